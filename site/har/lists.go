package har

import (
	"bytes"
	"encoding/json"
	"errors"

	"wiretime/site/recording"
)

// entries holds the entries that may become exchanges. It is read entry by entry: an entry
// takes hundreds of times as many octets in memory as "{}" has in the file.
type entries struct {
	list   []*entry
	limits recording.Limits
	count  int // of all entries
	empty  int // of those that have no URL and are left out

	mistyped *json.UnmarshalTypeError // the first value with another type than HAR requires
}

// UnmarshalJSON fails only if there are too many entries.
func (l *entries) UnmarshalJSON(b []byte) error {
	l.list, l.count, l.empty = nil, 0, 0
	var e *entry
	return each(b, &l.mistyped, func(d *json.Decoder) error {
		if l.count++; l.count > l.limits.Exchanges {
			return l.limits.TooManyExchanges("entries")
		}
		if e == nil {
			e = new(entry)
		}
		*e = entry{number: l.count - 1}
		err := d.Decode(e)
		if e.Request.URL == "" {
			l.empty++
		} else {
			l.list, e = append(l.list, e), nil
		}
		return err
	})
}

// pages holds the pages. There cannot be more than entries.
type pages struct {
	list   []page
	limits recording.Limits

	mistyped *json.UnmarshalTypeError
}

// UnmarshalJSON fails only if there are too many pages.
func (l *pages) UnmarshalJSON(b []byte) error {
	l.list = nil
	return each(b, &l.mistyped, func(d *json.Decoder) error {
		if len(l.list) == l.limits.Exchanges {
			return l.limits.TooManyExchanges("pages")
		}
		var p page
		err := d.Decode(&p)
		l.list = append(l.list, p)
		return err
	})
}

// each calls decode for each element of an array in valid JSON. It keeps the first value of a
// wrong type and goes on.
func each(array []byte, mistyped **json.UnmarshalTypeError, decode func(*json.Decoder) error) error {
	note := func(err error) error {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			if *mistyped == nil {
				*mistyped = wrong
			}
			return nil
		}
		return err
	}
	if array[0] != '[' {
		var none []struct{}
		return note(json.Unmarshal(array, &none))
	}
	d := json.NewDecoder(bytes.NewReader(array))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if err := note(decode(d)); err != nil {
			return err
		}
	}
	return nil
}
