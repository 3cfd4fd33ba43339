"""The two stories on a real cluster that is started for them: the default scheduler first, then gangplan."""
