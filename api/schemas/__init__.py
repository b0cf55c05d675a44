"""What REST shows and takes, for the OpenAPI document.

The domain's entities validate; these models only describe the wire form (durations are strings there).
A test holds the two against each other, field by field.
"""
