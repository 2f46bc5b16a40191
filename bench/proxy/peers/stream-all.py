# Streams every response as it arrives, so that events are not held back until the end.
def responseheaders(flow):
    flow.response.stream = "event-stream" in flow.response.headers.get("content-type", "")
