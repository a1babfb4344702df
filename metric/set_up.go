package metric

var setUp = Metric{
	Name: "set_up", Unit: "ms", Title: "Set-up",
	Definition: "From when the first session was to be opened until it could take the first request: the handshakes of the transport, and of TLS or DTLS where the transport has it. " +
		"A first session that could not be opened, or was given up before, has none.",
	Of: func(l *Load) (float64, bool) {
		if l.Stream == nil || len(l.Stream.Sessions) == 0 || l.Stream.Sessions[0].SetUp <= 0 {
			return 0, false
		}
		return milliseconds(int64(l.Stream.Sessions[0].SetUp)), true
	},
}
