"""Online kernel machines of forgetron-2005 and bpegasos-2010: one example at a time, a set of support vectors."""
