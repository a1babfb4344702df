package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"wiretime/network"
	"wiretime/protocol"
)

// strategies are the words for how a loader uses connections, but for a number at
// their end.
var strategies = []string{"browser", "sequential", "keep-alive", "parallel", "unlimited", "pipelined", "multiplexed"}

var numberedStrategy = regexp.MustCompile(`^(parallel|pipelined)-([1-9]\d{0,2})$`)

// strategyName is study.Vocabulary's check of a strategy.
func strategyName(word string) (string, error) {
	switch {
	case word == "parallel-6", word == "pipelined-1":
		return word[:len(word)-2], nil
	case slices.Contains(strategies, word), numberedStrategy.MatchString(word):
		return word, nil
	}
	meant := ""
	if nearest := network.Nearest(word, strategies); nearest != "" {
		meant = fmt.Sprintf("did you mean %q? ", nearest)
	}
	return "", fmt.Errorf("unknown strategy %.40q; %sThere are %s, with a number as in parallel-4 and pipelined-2", word, meant, strings.Join(strategies, ", "))
}

// strategyFits is runner.Config's check of a strategy over a protocol.
func strategyFits(strategy string, p protocol.Protocol) error {
	clear := p.Spoken == "http/1.1"
	switch word, _, _ := strings.Cut(strategy, "-"); {
	case word == "multiplexed" && clear:
		return fmt.Errorf("strategy %s over %s: a connection of HTTP/1.1 has no streams; use browser or parallel", strategy, p.Name)
	case word == "pipelined" && !clear:
		return fmt.Errorf("strategy %s over %s: only HTTP/1.1 has pipelining; use multiplexed", strategy, p.Name)
	}
	return nil
}
