"""The appearance of bodies: their own shapes and meshes, or sticks and mounts."""
