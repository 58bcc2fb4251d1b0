"""What bodies look like: their own shapes and meshes, or sticks, hinges and mounts in their place."""
