// Package workloads lists the workloads, and encodes their orders and outcomes for guests.
package workloads

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	json2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonexp "github.com/go-json-experiment/json/v1"

	"wiretime/study"
	"wiretime/workload"
	"wiretime/workload/crowd"
	"wiretime/workload/pageload"
	"wiretime/workload/playback"
	"wiretime/workload/upload"
)

// all returns every workload. A new workload needs a line here.
func all() []workload.Workload {
	return []workload.Workload{
		pageload.Workload{},
		playback.Workload{},
		upload.Workload{},
		crowd.Workload{},
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
	o.Order, err = decode(text)
	return err
}

// Outcome encodes an outcome as Order does an order.
type Outcome struct{ workload.Outcome }

// MarshalJSON implements json.Marshaler.
func (o Outcome) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]workload.Outcome{o.Workload().Kind().Name: o.Outcome})
}

// UnmarshalJSON implements json.Unmarshaler. It returns an error if the workload is unknown.
func (o *Outcome) UnmarshalJSON(text []byte) error { return jsonexp.Unmarshal(text, o) }

// UnmarshalJSONFrom does the same as a part of another document, which it reads once.
func (o *Outcome) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	o.Outcome = nil
	if _, err := from.ReadToken(); err != nil {
		return err
	}
	for from.PeekKind() == '"' {
		name, err := from.ReadToken()
		if err != nil {
			return err
		}
		list := all()
		known := slices.IndexFunc(list, func(w workload.Workload) bool { return w.Kind().Name == name.String() })
		if known < 0 {
			if err := from.SkipValue(); err != nil {
				return err
			}
			continue
		}
		o.Outcome = list[known].NewOutcome()
		if err := json2.UnmarshalDecode(from, o.Outcome); err != nil {
			return err
		}
	}
	if o.Outcome == nil {
		return errors.New("no known workload")
	}
	_, err := from.ReadToken()
	return err
}

// decode decodes the field of the workload whose name it has into a new order of that workload.
func decode(text []byte) (workload.Order, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	for _, w := range all() {
		if field, ok := fields[w.Kind().Name]; ok {
			order := w.NewOrder()
			return order, json.Unmarshal(field, order)
		}
	}
	return nil, fmt.Errorf("no known workload in %.100s", text)
}
