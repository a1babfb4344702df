package site

import (
	"math"
	"math/rand/v2"
)

const lulicWeek = "Lulic: Midiendo la Performance de SPDY, 2013, section 5.1, which names the site and gives no numbers; a reconstruction, "

// weekPages are the sites of Lulic's second experiment, which he loaded from the Internet. The numbers of twitter,
// wordpress and youtube are those of Kim et al. (2013), table 5, of the same year; all others are Wiretime's, after what
// such pages were then. Wiretime's are also the types, which are those of the mean page of 2013, and all distances and
// waits: see Servers. His own hosts are in the United States, but for those of Google and Facebook, which answer from
// near by; youm7 is Egyptian.
var weekPages = []Spec{
	{Name: "lulic-facebook", Title: "www.facebook.com", Objects: 30, Domains: 4, Total: 520_000, Servers: Servers{RTT: 160, Wait: 250}},
	{Name: "lulic-google", Title: "www.google.com", Objects: 16, Domains: 4, Total: 320_000, Servers: Servers{RTT: 40, Wait: 80}},
	{Name: "lulic-youtube", Title: "www.youtube.com", Source: kimTable5, Objects: 60, Domains: 13, Total: 735_650, Servers: Servers{RTT: 40, Wait: 200}},
	{Name: "lulic-blogger", Title: "www.blogger.com", Objects: 14, Domains: 4, Total: 210_000, Servers: Servers{RTT: 150, Wait: 200}},
	{Name: "lulic-twitter", Title: "www.twitter.com", Source: kimTable5, Objects: 12, Domains: 3, Total: 288_230, Servers: Servers{RTT: 190, Wait: 300}},
	{Name: "lulic-wordpress", Title: "www.wordpress.com", Source: kimTable5, Objects: 17, Domains: 11, Total: 268_250, Servers: Servers{RTT: 170, Wait: 250}},
	{Name: "lulic-imgur", Title: "www.imgur.com", Objects: 110, Domains: 16, Total: 1_500_000, Servers: Servers{RTT: 150, Wait: 200}},
	{Name: "lulic-youm7", Title: "www.youm7.com", Objects: 260, Domains: 24, Total: 3_300_000, Servers: Servers{RTT: 280, Wait: 500}},
	{Name: "lulic-blogspot", Title: "consigueregalos.blogspot.com", Objects: 70, Domains: 18, Total: 900_000, Servers: Servers{RTT: 150, Wait: 250}},
	{Name: "lulic-wordpress-blog", Title: "oprojetopedal.wordpress.com", Objects: 60, Domains: 16, Total: 800_000, Servers: Servers{RTT: 170, Wait: 300}},
}

// weekPage completes the specification of a site of Lulic's second experiment.
func weekPage(s Spec) Spec {
	s.Depth = 3
	if s.Source == "" {
		s.Source = lulicWeek + "by what such pages were made of"
	} else {
		s.Source = lulicWeek + "by the numbers of " + s.Source
	}
	return s
}

// Servers says how far away a made page's servers are, as seen from Argentina, and how long they take for an answer,
// as if the page had been recorded there. All of it is Wiretime's choice.
type Servers struct {
	RTT  float64 // of the page's own host, in ms
	Wait float64 // of the page's HTML, in ms, on average over pages
}

// nearRTT is the round trip to the nearest server, in ms: an edge of a content delivery network in the same city.
const nearRTT = 10

// otherRTT are the round trips that a page's other hosts may have, in ms, with how many of ten have them: edges in the
// same city and in Brazil, and servers on the east and the west coast of the United States.
var otherRTT = []struct {
	rtt   float64
	often int
}{{nearRTT, 3}, {40, 2}, {150, 3}, {190, 2}}

// staticWait is how long servers take for what lies ready, in ms, on average.
const staticWait = 15

// placeServers gives each host its distance and each resource its server's wait, both drawn from the seed. The last host
// is near, so that the distances of all others count from there.
func (s *Site) placeServers(spec Spec) {
	random := rand.New(rand.NewPCG(spec.Seed, 3))
	hosts := s.Origins()
	for i, host := range hosts {
		rtt := spec.Servers.RTT
		switch {
		case i > 0 && i == len(hosts)-1:
			rtt = nearRTT
		case i > 0:
			draw := random.IntN(10)
			for _, o := range otherRTT {
				if draw -= o.often; draw < 0 {
					rtt = o.rtt
					break
				}
			}
		}
		s.Hosts = append(s.Hosts, Host{Name: host, RTT: rtt})
	}
	for i := range s.Resources {
		mean := float64(staticWait)
		if i == 0 {
			mean = spec.Servers.Wait
		}
		s.Resources[i].Wait = math.Round(mean * math.Exp(0.3*random.NormFloat64()))
	}
}
