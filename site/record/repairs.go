package record

import (
	"fmt"
	"net/url"
	"strings"

	"wiretime/site/recording"
)

// repairs gathers what is not as it was, by what was done about it.
type repairs struct {
	kinds []string // in the order in which they were met
	where map[string][]string
}

// maxNamed is how many requests a repair names.
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
		r.note(of, "without a response when the recording ended: left out")
	case of.response == nil:
		r.note(of, "failed ("+describe(of.failure)+"): left out")
	case of.ended == 0:
		r.note(of, "whose response had not ended when the recording did: its body is not known")
	case of.failure != "" && of.hasBody && of.octets > 0:
		r.note(of, "whose response was broken off ("+describe(of.failure)+"): what had come of its body is taken as the whole")
	case of.failure != "":
		r.note(of, "whose response the page did not get ("+describe(of.failure)+"): stored without a body")
	case of.redirects() && value(of.response.Headers, "content-length") != "0" && value(of.response.Headers, "content-length") != "":
		r.note(of, "whose body cannot be had, since it is a redirect: stored without one")
	case !of.hasBody:
		r.note(of, "whose body the browser did not keep: its body is not known")
	case of.text && of.octets > 0 && int64(len(of.body)) != of.octets:
		r.note(of, "whose body this Chromium gives as UTF-8, which it was not: stored so")
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

// reasons are what the browser's errors mean.
var reasons = map[string]string{
	"net::ERR_NAME_NOT_RESOLVED":        "there is no such host",
	"net::ERR_INTERNET_DISCONNECTED":    "there is no network",
	"net::ERR_CONNECTION_REFUSED":       "nothing listens there",
	"net::ERR_CERT_AUTHORITY_INVALID":   "its certificate is of nobody that is trusted",
	"net::ERR_CERT_COMMON_NAME_INVALID": "its certificate is for another host",
	"net::ERR_CERT_DATE_INVALID":        "its certificate is of another time",
}

// describe says what an error of the browser means, where that helps.
func describe(failure string) string {
	if meaning := reasons[failure]; meaning != "" {
		return meaning + ", " + failure
	}
	return failure
}

// redirects says whether a response leads on to another URL.
func (r *request) redirects() bool {
	to := value(r.response.Headers, "location")
	_, err := url.Parse(to)
	return r.response.Status/100 == 3 && to != "" && err == nil
}
