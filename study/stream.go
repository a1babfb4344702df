package study

import "time"

// Link is the network of a stream: that of each access link, each way.
type Link struct {
	Delay         time.Duration // average, one-way
	Loss          float64       // packet error rate, 0 to 1
	Reconnections int           // how often the client moves to the other access link
}
