"""Models as programs of other systems: C for small devices, ONNX."""
