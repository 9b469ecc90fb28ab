//go:build unix

package faultmatrix

import "github.com/mooring-dev/mooring/internal/failure"

// rows is what is to follow from every fault. It is written from the policy: which class a fault has decides what is
// done about it, and where one fault of a class is treated otherwise than its siblings it has a row of its own.
var rows = joined(absentRows, connectRows, listRows, refreshRows, callRows, repeatRows, probeRows, streamRows)

func joined(lists ...[]row) (all []row) {
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// Faults that are treated alike wherever they are met.
var (
	badRequests = []string{"400", "405", "408", "409", "413"}
	fiveHundred = []string{"500", "501", "502", "503", "504"}
	limits      = []string{"429 seconds", "429 date", "429 nonsense", "503 told"}
	cuts        = []string{"reset", "closed"}
	silences    = []string{"hang before headers", "hang after headers"}
	// badContents are answers that no MCP server gives; inBody those that a body holds.
	badContents = []string{"bad json", "no rpc", "html", "accepted"}
	inBody      = []string{"cut body", "hang mid body", "answer stream cut", "answer stream gone", "answer stream resumed"}
	awayOnly    = []string{"redirect 302 same", "redirect cross"}
	forgotten   = []string{"404 session", "404 session rpc"}
	withRPC     = []string{"400 rpc", "404 rpc", "500 rpc"}
	passing     = []string{"401 once", "404 session once", "429 once"}
	later       = []phase{listing, refreshing, calling, repeating, probing}
)

// absentRows are the cells that there are not, and why.
var absentRows = joined(
	each(phases, func(p phase) []row {
		return []row{on(p, modern).fault(forgotten...).never("the modern era has no session ids")}
	}),
	each(later, func(p phase) []row {
		return []row{
			on(p, oldSSE).fault("404", "404 rpc").never("every request carries the session id"),
			on(p, oldSSE).fault(inBody...).never("answers come on the standing stream, not in bodies"),
			on(p).fault("stream dropped", "stream dropped id").never("it is the standing stream that ends"),
		}
	}),
	each([]phase{connecting, listing, refreshing, probing, repeating, streaming}, func(p phase) []row {
		return []row{on(p).fault("cancelled 400").never("only calls are cancelled")}
	}),
	each([]phase{refreshing, probing, repeating, streaming}, func(p phase) []row {
		return []row{on(p).fault(passing...).never("the first of several does the same")}
	}),
	[]row{
		on(connecting).fault("401 once").never("the first of several does the same"),
		on(listing).fault("401 once").never("the first of several does the same"),
		on(connecting, modern).fault("404 session once").never("the modern era has no session ids"),
		on(listing, modern).fault("404 session once").never("the modern era has no session ids"),
		on(calling, modern).fault("404 session once").never("the modern era has no session ids"),
		on(calling, modern).fault("cancelled 400").never("the end of the exchange is the word for it"),
		on(connecting, oldSSE).fault(inBody...).never("answers come on the standing stream, not in bodies"),
		on(connecting).fault("stream dropped", "stream dropped id").never("it is the standing stream that ends"),
		on(streaming, legacy, modern).fault("answer stream cut", "answer stream gone", "answer stream resumed",
			"wrong id", "result null", "oversized").never("a standing stream answers nothing"),
		on(streaming, oldSSE).fault(badRequests...).fault(fiveHundred...).fault(limits...).fault(cuts...).fault(silences...).
			fault(badContents...).fault(inBody...).fault(awayOnly...).fault(forgotten...).fault(withRPC...).
			fault("401", "403", "404", "wrong id", "result null", "oversized", "redirect 307 same").
			never("the stream is the session: see connect"),
	},
)

func each(of []phase, rows func(phase) []row) (all []row) {
	for _, p := range of {
		all = append(all, rows(p)...)
	}
	return all
}

var connectRows = []row{
	on(connecting).fault("401").fails(failure.Auth, failure.AuthenticationFailed).after(1, 1).is(refused),
	on(connecting).fault("403").fails(failure.Permission, failure.PermissionDenied).after(1, 1).is(refused),
	on(connecting).fault(limits...).fails(failure.RateLimit, failure.RateLimited).after(3, 1).is(putOff),
	on(connecting).fault("429 once").fails(failure.RateLimit, failure.RateLimited).after(1, 1).seen(2).is(reopened),
	on(connecting, legacy, oldSSE).fault(badRequests...).fails(failure.Protocol, failure.ProtocolError).
		after(3, 1).is(quarantined),
	on(connecting, modern).fault(badRequests...).fails(failure.Protocol, failure.ProtocolError).
		after(3, 2).is(quarantined),
	on(connecting, legacy).fault(withRPC...).fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(connecting, modern).fault(withRPC...).fails(failure.Protocol, failure.ProtocolError).after(3, 2).is(quarantined),
	on(connecting, oldSSE).fault("400 rpc").fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(connecting, oldSSE).fault("404 rpc").fails(failure.Protocol, failure.EndpointNotFound).after(3, 1).is(quarantined),
	on(connecting, oldSSE).fault("500 rpc").fails(failure.Server, failure.ServerError).after(3, 1).is(quarantined),
	on(connecting, legacy, oldSSE).fault("404").fails(failure.Protocol, failure.EndpointNotFound).
		after(3, 1).is(quarantined),
	on(connecting, modern).fault("404").fails(failure.Protocol, failure.EndpointNotFound).after(3, 2).is(quarantined),
	on(connecting, legacy, oldSSE).fault(forgotten...).fails(failure.SessionLost, failure.SessionFlapping).
		after(3, 1).is(putOff),
	on(connecting, legacy, oldSSE).fault("404 session once").fails(failure.SessionLost, failure.ConnectionLost).
		after(1, 1).seen(2).is(reopened),
	on(connecting, legacy, oldSSE).fault(fiveHundred...).fails(failure.Server, failure.ServerError).
		after(3, 1).is(quarantined),
	on(connecting, modern).fault(fiveHundred...).fails(failure.Server, failure.ServerError).after(3, 2).is(quarantined),

	on(connecting).fault("refused").fails(failure.Transport, failure.ConnectFailed).after(3, 0).is(quarantined),
	on(connecting).fault("dns").fails(failure.Transport, failure.DNSError).after(3, 0).is(quarantined),
	on(connecting).fault("tls untrusted").fails(failure.Protocol, failure.TLSVerificationFailed).after(3, 0).is(refused),
	on(connecting).fault("tls cut").fails(failure.Transport, failure.ConnectionLost).after(3, 0).is(quarantined),
	on(connecting, legacy, oldSSE).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).
		after(3, 1).is(quarantined),
	on(connecting, modern).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).after(3, 2).is(quarantined),
	on(connecting, legacy, oldSSE).fault(silences...).fails(failure.Timeout, failure.ConnectTimeout).
		after(3, 1).is(quarantined),
	on(connecting, modern).fault(silences...).fails(failure.Timeout, failure.ConnectTimeout).after(3, 2).is(quarantined),
	on(connecting, legacy).fault("hang mid body").fails(failure.Timeout, failure.ConnectTimeout).
		after(3, 1).is(quarantined),
	on(connecting, modern).fault("hang mid body").fails(failure.Timeout, failure.ConnectTimeout).
		after(3, 1).is(quarantined),

	on(connecting, legacy, modern).fault("cut body", "answer stream cut", "answer stream gone").
		fails(failure.Transport, failure.ConnectionLost).after(3, 1).is(quarantined),
	on(connecting, legacy, modern).fault("answer stream resumed").
		fails(failure.Transport, failure.ConnectionLost).after(3, 1).is(quarantined),
	on(connecting, legacy, modern).fault("bad json", "no rpc", "accepted", "oversized").
		fails(failure.Protocol, failure.NotMCP).after(3, 1).is(refused),
	on(connecting, legacy, oldSSE).fault("html").fails(failure.Protocol, failure.NotMCP).after(3, 1).is(refused),
	on(connecting, modern).fault("html").fails(failure.Protocol, failure.NotMCP).after(3, 2).is(refused),
	on(connecting, oldSSE).fault("bad json", "no rpc", "accepted", "wrong id").
		fails(failure.Timeout, failure.ConnectTimeout).after(3, 1).is(quarantined),
	on(connecting, oldSSE).fault("oversized").fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(connecting, legacy, modern).fault("wrong id").fails(failure.Protocol, failure.ProtocolError).
		after(3, 1).is(quarantined),
	on(connecting, legacy, oldSSE).fault("result null").fails(failure.Protocol, failure.NotMCP).after(3, 1).is(refused),
	on(connecting, modern).fault("result null").fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(connecting).fault(awayOnly...).fails(failure.Protocol, failure.RedirectRefused).after(3, 1).is(refused),
	on(connecting).fault("redirect 307 same").seen(2).is(kept),
}

var listRows = []row{
	on(listing).fault("401").fails(failure.Auth, failure.AuthenticationFailed).after(1, 1).is(refused),
	on(listing).fault("403").fails(failure.Permission, failure.PermissionDenied).after(1, 1).is(refused),
	on(listing).fault(limits...).fails(failure.RateLimit, failure.RateLimited).after(3, 1).is(putOff),
	on(listing).fault("429 once").fails(failure.RateLimit, failure.RateLimited).after(1, 1).seen(2).is(reopened),
	on(listing).fault(badRequests...).fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(listing, legacy, modern).fault(withRPC...).fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept),
	on(listing, oldSSE).fault("400 rpc").fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(listing, oldSSE).fault("500 rpc").fails(failure.Server, failure.ServerError).after(3, 1).is(quarantined),
	on(listing, legacy, modern).fault("404").fails(failure.Protocol, failure.EndpointNotFound).
		after(3, 1).is(quarantined),
	on(listing, legacy, oldSSE).fault(forgotten...).fails(failure.SessionLost, failure.SessionFlapping).
		after(3, 1).is(putOff),
	on(listing, legacy, oldSSE).fault("404 session once").fails(failure.SessionLost, failure.ConnectionLost).
		after(1, 1).seen(2).is(reopened),
	on(listing).fault(fiveHundred...).fails(failure.Server, failure.ServerError).after(3, 1).is(quarantined),

	on(listing).fault("refused").fails(failure.Transport, failure.ConnectFailed).after(3, 0).is(quarantined),
	on(listing).fault("dns").fails(failure.Transport, failure.DNSError).after(3, 0).is(quarantined),
	on(listing).fault("tls untrusted").fails(failure.Protocol, failure.TLSVerificationFailed).after(3, 0).is(refused),
	on(listing).fault("tls cut").fails(failure.Transport, failure.ConnectionLost).after(3, 0).is(quarantined),
	on(listing).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).after(3, 1).is(quarantined),
	on(listing).fault(silences...).fails(failure.Timeout, failure.ListToolsTimeout).after(3, 1).is(quarantined),
	on(listing, legacy, modern).fault("hang mid body").fails(failure.Timeout, failure.ListToolsTimeout).
		after(3, 1).is(quarantined),

	on(listing, legacy, modern).fault("cut body", "answer stream cut", "answer stream gone").
		fails(failure.Transport, failure.ConnectionLost).after(3, 1).is(quarantined),
	on(listing, legacy).fault("answer stream resumed").seen(1).is(kept),
	on(listing, modern).fault("answer stream resumed").fails(failure.Transport, failure.ConnectionLost).
		after(3, 1).is(quarantined),
	on(listing, legacy, modern).fault(badContents...).fault("wrong id").
		fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(listing).fault("oversized").fails(failure.Protocol, failure.CatalogTooLarge).after(1, 1).is(kept),
	on(listing, oldSSE).fault(badContents...).fault("wrong id").
		fails(failure.Timeout, failure.ListToolsTimeout).after(3, 1).is(quarantined),
	on(listing).fault("result null").fails(failure.Protocol, failure.ProtocolError).after(3, 1).is(quarantined),
	on(listing).fault(awayOnly...).fails(failure.Protocol, failure.RedirectRefused).after(3, 1).is(refused),
	on(listing).fault("redirect 307 same").seen(2).is(kept),
}

var refreshRows = []row{
	on(refreshing).fault("401").fails(failure.Auth, failure.AuthenticationFailed).after(1, 1).is(kept),
	on(refreshing).fault("403").fails(failure.Permission, failure.PermissionDenied).after(1, 1).is(kept),
	on(refreshing).fault(limits...).fails(failure.RateLimit, failure.RateLimited).after(1, 1).is(kept),
	on(refreshing).fault(badRequests...).fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept),
	on(refreshing, legacy, modern).fault(withRPC...).fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept),
	on(refreshing, oldSSE).fault("400 rpc").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept),
	on(refreshing, oldSSE).fault("500 rpc").fails(failure.Server, failure.ServerError).after(1, 1).is(kept),
	on(refreshing, legacy, modern).fault("404").fails(failure.Protocol, failure.EndpointNotFound).after(1, 1).is(kept),
	on(refreshing, legacy, oldSSE).fault(forgotten...).fails(failure.SessionLost, failure.ConnectionLost).
		after(1, 1).is(reopened),
	on(refreshing).fault(fiveHundred...).fails(failure.Server, failure.ServerError).after(1, 1).is(kept),

	// The list, the health probe that it asks for, and two connects.
	on(refreshing).fault("refused").fails(failure.Transport, failure.ConnectFailed).after(4, 0).is(quarantined),
	on(refreshing).fault("dns").fails(failure.Transport, failure.DNSError).after(4, 0).is(quarantined),
	on(refreshing).fault("tls cut").fails(failure.Transport, failure.ConnectionLost).after(4, 0).is(quarantined),
	on(refreshing).fault("tls untrusted").fails(failure.Protocol, failure.TLSVerificationFailed).after(1, 0).is(kept),
	on(refreshing).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).after(1, 1).is(kept),
	on(refreshing).fault(silences...).fails(failure.Timeout, failure.ListToolsTimeout).after(1, 1).is(kept),
	on(refreshing, legacy, modern).fault("hang mid body").fails(failure.Timeout, failure.ListToolsTimeout).
		after(1, 1).is(kept),

	on(refreshing, legacy, modern).fault("cut body", "answer stream cut", "answer stream gone").
		fails(failure.Transport, failure.ConnectionLost).after(1, 1).is(kept),
	on(refreshing, legacy).fault("answer stream resumed").seen(1).is(kept),
	on(refreshing, modern).fault("answer stream resumed").fails(failure.Transport, failure.ConnectionLost).
		after(1, 1).is(kept),
	on(refreshing, legacy, modern).fault(badContents...).fault("wrong id").
		fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept),
	on(refreshing, oldSSE).fault(badContents...).fault("wrong id").
		fails(failure.Timeout, failure.ListToolsTimeout).after(1, 1).is(kept),
	on(refreshing).fault("oversized").fails(failure.Protocol, failure.CatalogTooLarge).after(1, 1).is(kept),
	on(refreshing).fault("result null").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept),
	on(refreshing).fault(awayOnly...).fails(failure.Protocol, failure.RedirectRefused).after(1, 1).is(kept),
	on(refreshing).fault("redirect 307 same").seen(2).is(kept),
}

var callRows = joined(both(calling), []row{
	on(calling).fault("401 once").fails(failure.Auth, failure.AuthenticationFailed).after(1, 1).is(reopened).
		gives(notProcessed),
	on(calling).fault("429 once").after(1, 1).seen(2).is(kept).gives(succeeded),
	on(calling, legacy, oldSSE).fault("404 session once").after(1, 1).seen(2).is(reopened).gives(succeeded),
	on(calling, legacy, oldSSE).fault("cancelled 400").seen(1).is(kept).gives(abandoned),
	on(calling).fault(fiveHundred...).fails(failure.Server, failure.ServerError).after(1, 1).is(reopened).gives(unknown),
	on(calling, oldSSE).fault("500 rpc").fails(failure.Server, failure.ServerError).after(1, 1).is(reopened).
		gives(unknown),
	on(calling).fault("503 told").fails(failure.RateLimit, failure.RateLimited).after(1, 1).is(kept).gives(unknown),
	on(calling).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).after(1, 1).is(reopened).gives(unknown),
	on(calling, legacy, modern).fault("cut body", "answer stream cut", "answer stream gone").
		fails(failure.Transport, failure.ConnectionLost).after(1, 1).is(reopened).gives(unknown),
	on(calling, modern).fault("answer stream resumed").fails(failure.Transport, failure.ConnectionLost).
		after(1, 1).is(reopened).gives(unknown),
})

var repeatRows = joined(both(repeating), []row{
	on(repeating).fault(fiveHundred...).fails(failure.Server, failure.ServerError).after(3, 1).is(quarantined).
		gives(unknown),
	on(repeating, oldSSE).fault("500 rpc").fails(failure.Server, failure.ServerError).after(3, 1).is(quarantined).
		gives(unknown),
	on(repeating).fault("503 told").fails(failure.RateLimit, failure.RateLimited).after(3, 1).is(kept).gives(unknown),
	on(repeating).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).after(3, 1).is(quarantined).
		gives(unknown),
	on(repeating, legacy, modern).fault("cut body", "answer stream cut", "answer stream gone").
		fails(failure.Transport, failure.ConnectionLost).after(3, 1).is(quarantined).gives(unknown),
	on(repeating, modern).fault("answer stream resumed").fails(failure.Transport, failure.ConnectionLost).
		after(3, 1).is(quarantined).gives(unknown),
})

// both is what does not depend on whether a call may be repeated.
func both(p phase) []row {
	return []row{
		on(p).fault("401").fails(failure.Auth, failure.AuthenticationFailed).after(1, 1).is(reopened).gives(notProcessed),
		on(p).fault("403").fails(failure.Permission, failure.PermissionDenied).after(1, 1).is(kept).gives(rejected),
		on(p).fault("429 seconds", "429 date", "429 nonsense").fails(failure.RateLimit, failure.RateLimited).
			after(2, 1).is(kept).gives(notProcessed),
		on(p).fault(badRequests...).fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept).gives(rejected),
		on(p, legacy, modern).fault(withRPC...).seen(1).is(kept).gives(passedOn),
		on(p, oldSSE).fault("400 rpc").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept).gives(rejected),
		on(p, legacy, modern).fault("404").fails(failure.Protocol, failure.EndpointNotFound).after(1, 1).is(kept).
			gives(rejected),
		on(p, legacy, oldSSE).fault(forgotten...).fails(failure.Protocol, failure.EndpointNotFound).
			after(2, 1).is(reopened).gives(rejected),

		on(p).fault("refused").fails(failure.Transport, failure.ConnectFailed).after(3, 0).is(quarantined).
			gives(notProcessed),
		on(p).fault("dns").fails(failure.Transport, failure.DNSError).after(3, 0).is(quarantined).gives(notProcessed),
		on(p).fault("tls cut").fails(failure.Transport, failure.ConnectionLost).after(3, 0).is(quarantined).
			gives(notProcessed),
		on(p).fault("tls untrusted").fails(failure.Protocol, failure.TLSVerificationFailed).after(1, 0).is(reopened).
			gives(notProcessed),
		on(p).fault(silences...).fails(failure.Timeout, failure.CallTimeout).after(1, 1).is(reopened).gives(unknown),
		on(p, legacy, modern).fault("hang mid body").fails(failure.Timeout, failure.CallTimeout).
			after(1, 1).is(kept).gives(unknown),

		on(p, legacy).fault("answer stream resumed").seen(1).is(kept).gives(succeeded),
		on(p, legacy, modern).fault(badContents...).fault("wrong id").
			fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept).gives(unknown),
		on(p).fault("oversized").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept).gives(unknown),
		on(p, oldSSE).fault("no rpc", "html", "accepted").fails(failure.Timeout, failure.CallTimeout).
			after(1, 1).is(reopened).gives(unknown),
		on(p, oldSSE).fault("bad json", "wrong id").fails(failure.Timeout, failure.CallTimeout).
			after(1, 1).is(kept).gives(unknown),
		on(p).fault("result null").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(kept).gives(unknown),
		on(p).fault(awayOnly...).fails(failure.Protocol, failure.RedirectRefused).after(1, 1).is(kept).gives(unknown),
		on(p).fault("redirect 307 same").seen(2).is(kept).gives(succeeded),
	}
}

var probeRows = []row{
	on(probing).fault("401").fails(failure.Auth, failure.AuthenticationFailed).after(1, 1).is(refused),
	on(probing).fault("403").fails(failure.Permission, failure.PermissionDenied).after(1, 1).is(refused),
	on(probing).fault(limits...).after(2, 1).is(kept),
	on(probing).fault(badRequests...).fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(reopened),
	on(probing, legacy, modern).fault(withRPC...).seen(2).is(kept),
	on(probing, oldSSE).fault("400 rpc").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(reopened),
	on(probing, oldSSE).fault("500 rpc").fails(failure.Server, failure.ServerError).after(1, 1).is(reopened),
	on(probing, legacy, modern).fault("404").fails(failure.Protocol, failure.EndpointNotFound).after(1, 1).is(reopened),
	on(probing, legacy, oldSSE).fault(forgotten...).fails(failure.SessionLost, failure.ConnectionLost).
		after(1, 1).is(reopened),
	on(probing).fault(fiveHundred...).fails(failure.Server, failure.ServerError).after(1, 1).is(reopened),

	// The probe and two connects.
	on(probing).fault("refused").fails(failure.Transport, failure.ConnectFailed).after(3, 0).is(quarantined),
	on(probing).fault("dns").fails(failure.Transport, failure.DNSError).after(3, 0).is(quarantined),
	on(probing).fault("tls cut").fails(failure.Transport, failure.ConnectionLost).after(3, 0).is(quarantined),
	on(probing).fault("tls untrusted").fails(failure.Protocol, failure.TLSVerificationFailed).after(3, 0).is(refused),
	on(probing).fault(cuts...).fails(failure.Transport, failure.ConnectionLost).after(1, 1).is(reopened),
	on(probing).fault(silences...).fails(failure.Timeout, failure.ConnectionLost).after(3, 1).is(reopened),
	on(probing, legacy, modern).fault("hang mid body").fails(failure.Timeout, failure.ConnectionLost).
		after(3, 1).is(reopened),

	on(probing, legacy, modern).fault("cut body", "answer stream cut", "answer stream gone").
		fails(failure.Transport, failure.ConnectionLost).after(1, 1).is(reopened),
	on(probing, legacy).fault("answer stream resumed").seen(2).is(kept),
	on(probing, modern).fault("answer stream resumed").fails(failure.Transport, failure.ConnectionLost).
		after(1, 1).is(reopened),
	on(probing, legacy, modern).fault(badContents...).fault("wrong id", "oversized").
		fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(reopened),
	on(probing, oldSSE).fault(badContents...).fault("wrong id").
		fails(failure.Timeout, failure.ConnectionLost).after(3, 1).is(reopened),
	on(probing, oldSSE).fault("oversized").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(reopened),
	on(probing).fault("result null").fails(failure.Protocol, failure.ProtocolError).after(1, 1).is(reopened),
	on(probing).fault(awayOnly...).fails(failure.Protocol, failure.RedirectRefused).after(1, 1).is(reopened),
	on(probing).fault("redirect 307 same").seen(2).is(kept),
}

var streamRows = []row{
	// What says that there is no stream is believed.
	on(streaming, legacy, modern).fault("400", "401", "403", "404", "405", "409", "413", "501", "400 rpc", "404 rpc",
		"html", "no rpc", "accepted").fault(awayOnly...).seen(1).is(kept),
	on(streaming, legacy).fault(forgotten...).seen(1).is(kept),
	// What may pass is asked for again, the later the oftener.
	on(streaming, legacy, modern).fault("408", "500", "502", "503", "504", "500 rpc", "bad json", "cut body").
		fault(limits...).fault(cuts...).seen(2).is(kept),
	on(streaming, legacy, modern).fault(silences...).fault("hang mid body").seen(1).is(kept),
	on(streaming, legacy, modern).fault("redirect 307 same").seen(2).is(kept),
	on(streaming, legacy, modern).fault("stream dropped", "stream dropped id").seen(1).is(kept),
	on(streaming, oldSSE).fault("stream dropped", "stream dropped id").fails(failure.Transport, failure.ConnectionLost).
		after(1, 1).is(reopened),
	// The stream that cannot be had again, and three connects.
	on(streaming).fault("refused").fails(failure.Transport, failure.ConnectFailed).after(4, 0).is(quarantined),
	on(streaming).fault("dns").fails(failure.Transport, failure.DNSError).after(4, 0).is(quarantined),
	on(streaming).fault("tls cut").fails(failure.Transport, failure.ConnectionLost).after(4, 0).is(quarantined),
	on(streaming, legacy, modern).fault("tls untrusted").seen(0).is(kept),
	on(streaming, oldSSE).fault("tls untrusted").fails(failure.Protocol, failure.TLSVerificationFailed).
		after(4, 0).is(refused),
}
