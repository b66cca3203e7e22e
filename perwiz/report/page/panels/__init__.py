"""The panels of the page: `<id>.py` makes the data that `<id>.js` draws."""
