"""One run of a campaign, as the person at the client sees it: submit, watch, record, say what came."""
