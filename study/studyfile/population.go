package studyfile

import (
	"math"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"wiretime/network"
)

// ParsePopulation reads a population, a mapping of networks to weights, as in
//
//	{lte: 40, cable: 45, 3g: 10, satellite-geo: 5}
//
// or with a line for each. The networks are profiles that do not change over time. Errors name
// the file. The error is of type Errors and lists every mistake with its line and column.
func ParsePopulation(file string, src []byte) (network.Population, error) {
	r := &reader{file: file, of: "population", parts: "networks and their weights, as in lte: 40"}
	p := network.Population{Name: file}
	if body := r.parse(src); body != nil {
		p.Shares = r.shares(body)
	}
	if len(r.errs) > 0 {
		return network.Population{}, r.errs.sorted()
	}
	return p, nil
}

// shares reads networks and their weights.
func (r *reader) shares(n ast.Node) (shares []network.Share) {
	var fields []*ast.MappingValueNode
	switch n := n.(type) {
	case *ast.MappingNode:
		fields = n.Values
	case *ast.MappingValueNode:
		fields = []*ast.MappingValueNode{n}
	default:
		r.fail(n, "a population must hold networks and weights, as in lte: 40, not %s", describe(n))
		return nil
	}
	if len(fields) == 0 {
		r.fail(n, "the population is empty; write networks and weights, as in lte: 40")
	}
	for _, f := range fields {
		name, ok := r.text(f.Key, "a network")
		if !ok {
			continue
		}
		path, err := network.Profile(name)
		if err != nil {
			r.fail(f.Key, "%v", err)
		} else if err := path.CheckFixed(); err != nil {
			r.fail(f.Key, "%v; a population has networks that stay as they are", err)
		}
		if weight, ok := r.weight(f.Value); ok && err == nil {
			shares = append(shares, network.Share{Network: name, Weight: weight})
		}
	}
	return shares
}

// maxWeight keeps sums of weights exact enough.
const maxWeight = 1e9

func (r *reader) weight(n ast.Node) (float64, bool) {
	text, ok := r.text(n, "a weight")
	if !ok {
		return 0, false
	}
	weight, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(weight) || weight <= 0 || weight > maxWeight {
		r.fail(n, "invalid weight %.40q: must be a positive number, at most %.0f", text, maxWeight)
		return 0, false
	}
	return weight, true
}
