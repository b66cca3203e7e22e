"""The OTF2 library, and all that touches it: archives, records and the worker processes that read them."""
