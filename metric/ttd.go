package metric

var ttd = Metric{
	Name: "ttd", Unit: "ms", Title: "TTD",
	Definition: "Total transmission delay of a download (Nam et al., 2021, section 4.2): from its beginning, before the first session is opened, until the last octet of the file has come. " +
		"Reconnections and the pauses after failures count. A file that did not come whole has none.",
	Of: func(l *Load) (float64, bool) {
		if !l.isDownload() {
			return 0, false
		}
		d, ok := l.Stream.Figures.TTD()
		return milliseconds(int64(d)), ok
	},
}
