package record

import (
	"fmt"
	"net/url"
	"strings"

	"wiretime/site/recording"
)

// repairs groups requests by what had to be repaired in them.
type repairs struct {
	kinds []string // in the order in which they were met
	where map[string][]string
}

// maxNamed limits the requests that a repair names.
const maxNamed = 5

func (r *repairs) note(of *request, what string) { r.name(of.where(), what) }

func (r *repairs) name(where, what string) {
	if r.where == nil {
		r.where = map[string][]string{}
	}
	if r.where[what] == nil {
		r.kinds = append(r.kinds, what)
	}
	r.where[what] = append(r.where[what], where)
}

// judge notes what is wrong with a request.
func (r *repairs) judge(of *request) {
	switch {
	case of.response == nil && of.ended == 0:
		r.note(of, "still pending when the recording ended: left out")
	case of.response == nil:
		r.note(of, "failed ("+describe(of.failure)+"): left out")
	case of.ended == 0:
		r.note(of, "whose response was incomplete when the recording ended: its body is unknown")
	case of.failure != "" && of.hasBody && of.octets > 0:
		r.note(of, "whose response was interrupted ("+describe(of.failure)+"): the received part is taken as the whole body")
	case of.failure != "":
		r.note(of, "whose response the browser withheld from the page ("+describe(of.failure)+"): stored without a body")
	case of.redirects() && value(of.response.Headers, "content-length") != "0" && value(of.response.Headers, "content-length") != "":
		r.note(of, "answered by a redirect, whose body the browser does not deliver: stored without a body")
	case !of.hasBody:
		r.note(of, "whose body the browser did not keep: its body is unknown")
	case of.text && of.octets > 0 && int64(len(of.body)) != of.octets:
		r.note(of, "whose body was not UTF-8, but is delivered as UTF-8 by this Chromium: stored as UTF-8")
	}
}

func (r *repairs) list() []recording.Repair {
	var out []recording.Repair
	for _, what := range r.kinds {
		where := r.where[what]
		requests := "request"
		if len(where) > 1 {
			requests = "requests"
		}
		named := strings.Join(where[:min(len(where), maxNamed)], ", ")
		if len(where) > maxNamed {
			named += fmt.Sprintf(" and %d more", len(where)-maxNamed)
		}
		out = append(out, recording.Repair{Where: named, What: fmt.Sprintf("%d %s %s", len(where), requests, what)})
	}
	return out
}

// reasons explains the browser's errors.
var reasons = map[string]string{
	"net::ERR_NAME_NOT_RESOLVED":        "no such host",
	"net::ERR_INTERNET_DISCONNECTED":    "no network",
	"net::ERR_CONNECTION_REFUSED":       "connection refused",
	"net::ERR_CERT_AUTHORITY_INVALID":   "its certificate's issuer is not trusted",
	"net::ERR_CERT_COMMON_NAME_INVALID": "its certificate is for another host",
	"net::ERR_CERT_DATE_INVALID":        "its certificate has expired or is not yet valid",
}

// describe explains an error of the browser if it can.
func describe(failure string) string {
	if meaning := reasons[failure]; meaning != "" {
		return meaning + ", " + failure
	}
	return failure
}

// redirects reports whether a response is a redirect.
func (r *request) redirects() bool {
	to := value(r.response.Headers, "location")
	_, err := url.Parse(to)
	return r.response.Status/100 == 3 && to != "" && err == nil
}
