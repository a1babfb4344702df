package network

import "time"

const (
	webPageTestSource = "WebPageTest, www/settings/connectivity.ini.sample, section "
	webPageTestNote   = "WebPageTest states the RTT; half of it lies in each direction."
)

// webPageTest holds WebPageTest's connectivity profiles, under Wiretime's
// spelling of their names.
var webPageTest = []figures{
	{name: "dial-up", access: "modem", source: webPageTestSource + "[Dial]", note: webPageTestNote, down: 49 * kbit, up: 30 * kbit, rtt: 120 * time.Millisecond},
	{name: "edge", access: "edge", source: webPageTestSource + "[Edge]", note: webPageTestNote, down: 240 * kbit, up: 200 * kbit, rtt: 840 * time.Millisecond},
	{name: "2g", access: "2g", source: webPageTestSource + "[2G]", note: webPageTestNote, down: 280 * kbit, up: 256 * kbit, rtt: 800 * time.Millisecond},
	{name: "slow-3g", access: "3g", source: webPageTestSource + "[3GSlow]", note: webPageTestNote, down: 400 * kbit, up: 400 * kbit, rtt: 400 * time.Millisecond},
	{name: "3g", access: "3g", source: webPageTestSource + "[3G]", note: webPageTestNote, down: 1600 * kbit, up: 768 * kbit, rtt: 300 * time.Millisecond},
	{name: "3g-fast", access: "3g", source: webPageTestSource + "[3GFast]", note: webPageTestNote, down: 1600 * kbit, up: 768 * kbit, rtt: 150 * time.Millisecond},
	{name: "4g", access: "4g", source: webPageTestSource + "[4G]", note: webPageTestNote, down: 9 * mbit, up: 9 * mbit, rtt: 170 * time.Millisecond},
	{name: "lte", access: "lte", source: webPageTestSource + "[LTE]", note: webPageTestNote, down: 12 * mbit, up: 12 * mbit, rtt: 70 * time.Millisecond},
	{name: "dsl", access: "dsl", source: webPageTestSource + "[DSL]", note: webPageTestNote, down: 1500 * kbit, up: 384 * kbit, rtt: 50 * time.Millisecond},
	{name: "cable", access: "cable", source: webPageTestSource + "[Cable]", note: webPageTestNote, down: 5 * mbit, up: 1 * mbit, rtt: 28 * time.Millisecond},
	{name: "fios", access: "fibre", source: webPageTestSource + "[FIOS]", note: webPageTestNote, down: 20 * mbit, up: 5 * mbit, rtt: 4 * time.Millisecond},
}

const ooklaSatelliteSource = "Ookla Speedtest Intelligence, satellite internet in the United States, Q2 2021, medians"

// otherToday holds common networks that WebPageTest has no profile for.
var otherToday = []figures{
	{
		name: "fibre", access: "fibre",
		source: "Verizon Fios, 300/300 Mbit/s tier; RTT: Ookla, fixed broadband in the United States, Q2 2020, Verizon",
		note:   "The rates are the tier's. The RTT of 9 ms is the provider's median to nearby test servers, the lowest that Ookla lists.",
		down:   300 * mbit, up: 300 * mbit, rtt: 9 * time.Millisecond,
	},
	{
		name: "satellite-leo", access: "satellite",
		source: ooklaSatelliteSource + " of Starlink: 97.23/13.89 Mbit/s, 45 ms",
		note:   "The medians hide the latency steps and losses at satellite handovers; none are emulated.",
		down:   97_230 * kbit, up: 13_890 * kbit, rtt: 45 * time.Millisecond,
	},
	{
		name: "satellite-geo", access: "satellite",
		source: ooklaSatelliteSource + " of Viasat: 18.13/3.38 Mbit/s, 630 ms; RFC 2488, section 2, puts the propagation alone at up to 558 ms",
		note:   "Without the operator's TCP accelerating proxies, which would not see into QUIC.",
		down:   18_130 * kbit, up: 3_380 * kbit, rtt: 630 * time.Millisecond,
	},
}
