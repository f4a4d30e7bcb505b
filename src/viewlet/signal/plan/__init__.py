"""What a pipeline is: operators as frozen values, the kinds of signal they give, their text and JSON."""
