"""What of its hosts would stop a campaign, found out before it is run."""
