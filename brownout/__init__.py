"""The core. Importing it imports nothing else: inside Envoy there is only `brownout.profile`."""
