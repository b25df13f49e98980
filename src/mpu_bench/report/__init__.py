"""From records to what people read: tables beside the published numbers."""
