"""Files from the network: fetched, checked, kept."""
