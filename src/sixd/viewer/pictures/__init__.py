"""Pictures and videos of a scene without a window: by the page in a browser, or by a renderer in NumPy."""
