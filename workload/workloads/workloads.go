// Package workloads lists the workloads, and encodes their orders and outcomes for guests.
package workloads

import (
	"encoding/json"
	"fmt"
	"slices"

	jsonexp "github.com/go-json-experiment/json/v1"

	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
)

// all returns every workload. A new workload needs a line here.
func all() []workload.Workload {
	return []workload.Workload{
		pageload.Workload{},
		playback.Workload{},
	}
}

// Of returns the workload that has a study's axes. Each of study.Workloads has one.
func Of(w *study.Workload) workload.Workload {
	list := all()
	return list[slices.IndexFunc(list, func(each workload.Workload) bool { return each.Kind().Study == w })]
}

// Order encodes an order as a JSON object whose only field is named after the workload
// (workload.Kind.Name).
type Order struct{ workload.Order }

// MarshalJSON implements json.Marshaler.
func (o Order) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]workload.Order{o.Workload().Kind().Name: o.Order})
}

// UnmarshalJSON implements json.Unmarshaler. It returns an error if the workload is unknown.
func (o *Order) UnmarshalJSON(text []byte) (err error) {
	o.Order, err = decode(text, workload.Workload.NewOrder)
	return err
}

// Outcome encodes an outcome as Order does an order.
type Outcome struct{ workload.Outcome }

// MarshalJSON implements json.Marshaler.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]workload.Outcome{o.Workload().Kind().Name: o.Outcome})
}

// UnmarshalJSON implements json.Unmarshaler. It returns an error if the workload is unknown.
func (o *Outcome) UnmarshalJSON(text []byte) (err error) {
	o.Outcome, err = decode(text, workload.Workload.NewOutcome)
	return err
}

// decode decodes the field of the workload whose name it has into a new value of that workload.
func decode[T any](text []byte, empty func(workload.Workload) T) (value T, err error) {
	var fields map[string]json.RawMessage
	if err := jsonexp.Unmarshal(text, &fields); err != nil {
		return value, err
	}
	for _, w := range all() {
		if field, ok := fields[w.Kind().Name]; ok {
			value = empty(w)
			return value, jsonexp.Unmarshal(field, value)
		}
	}
	return value, fmt.Errorf("no known workload in %.100s", text)
}
