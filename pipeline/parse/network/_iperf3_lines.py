"""Private to the iperf3 readers: the lines of its text as regular expressions."""

from __future__ import annotations

import re

DONE = "iperf Done."
CONNECTING = re.compile(r"Connecting to host (.{1,300}), port ([0-9]{1,5})$")
ACCEPTED = re.compile(r"Accepted connection from (.{1,300}), port ([0-9]{1,5})$")
LISTENING = re.compile(r"Server listening on ([0-9]{1,5})(?: \(test #[0-9]{1,9}\))?$")
CONNECTED = re.compile(
    r"\[ *([0-9]{1,9})\] local (\S{1,200}) port ([0-9]{1,5}) connected to (\S{1,200}) port ([0-9]{1,5})"
)
FAILED = re.compile(r"iperf3: ((?:error|interrupt|getsockopt|unable|the (?:server|client)) ?.{0,500})")
CLIENT_ROW = re.compile(r"\[ *[A-Z0-9]{1,9}\]\[[RT]X-C\]")
HEADER = re.compile(r"\[ ID\](?:\[Role\])? Interval\s{1,20}Transfer\s{1,20}(?:Bitrate|Bandwidth)(.{0,100})")
VERSION = re.compile(r"iperf (3\.[0-9][0-9A-Za-z.+-]{0,20})(?: \(.{0,100}\))?$")
TIME = re.compile(r"Time: (?:\w{3}, )?(\d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d) GMT$", re.ASCII)
LOST = re.compile(r"(?P<jitter>[0-9.]{1,20}) ms\s{1,9}(?P<lost>-?[0-9]{1,20}|Unknown)/(?P<total>-?[0-9]{1,20})"
                   r"(?: \([^)]{0,20}%\))?")  # fmt: skip
SENT = re.compile(r"(?P<count>-?[0-9]{1,20})(?:\s{1,20}(?P<cwnd>[0-9.]{1,20}) (?P<unit>[KMGTP]?)Bytes)?")
WORDS = re.compile(r"\s*(sender|receiver|\(omitted\))?$")
CPU = re.compile(r"CPU Utilization: (local|remote)/(\w{6,8}) ([0-9.]{1,12})% \(([0-9.]{1,12})%u/([0-9.]{1,12})%s\), "
                  r"(local|remote)/(\w{6,8}) ([0-9.]{1,12})% \(([0-9.]{1,12})%u/([0-9.]{1,12})%s\)")  # fmt: skip
DATAGRAMS = re.compile(r"\[ *([0-9]{1,9}|SUM)\](?:\[..-.\])?(?:\s{1,9}[0-9.]{1,20}- *[0-9.]{1,20}\s{1,9}sec)?\s{1,9}"
                        r"(?:Sent ([0-9]{1,18}) datagrams|([0-9]{1,18}) datagrams received out-of-order)")  # fmt: skip
NOT_AVAILABLE = re.compile(r"\[ *(?:[0-9]{1,9}|SUM)\] \((sender|receiver) statistics not available\)")
SETTING = re.compile(r"\s{0,9}(Cookie|TCP MSS|Target Bitrate|Control connection MSS|snd_tcp_congestion"
                      r"|rcv_tcp_congestion|Starting Test|Authentication succeeded for user):? (.{1,300})")  # fmt: skip
NOISE = re.compile(r"(?:[- ]{4,}|Test Complete\. Summary Results:|Server (?:JSON )?output:"
                    r"|Finished omit period, starting real test|\[ *\d+\] Read lengths .*"
                    r"|Using TCP Autotuning|Interval \d+ - throughput .*)?$")  # fmt: skip
