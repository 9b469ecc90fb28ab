package integration

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// rebound is a name that leads to the metadata service of clouds: what a person who owns a name can have DNS say.
const rebound = "rebound.example.test"

// lateNames are names, with a dot at the end, that a test made known meanwhile: they lead to this machine.
var lateNames sync.Map

// The names of this process are those of this file, so that no test asks the network, and a name that does not exist is
// one everywhere. It is set before anything else runs because it is the process's.
func init() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serveNames(server)
		return client, nil
	}}
}

// serveNames answers the questions of one connection, each preceded by its length (RFC 1035 section 4.2.2), until the
// resolver closes it.
func serveNames(conn net.Conn) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, question); err != nil {
			return
		}
		answer, err := resolveName(question)
		if err != nil {
			return
		}
		binary.BigEndian.PutUint16(length[:], uint16(len(answer)))
		if _, err := conn.Write(append(length[:], answer...)); err != nil {
			return
		}
	}
}

func resolveName(query []byte) ([]byte, error) {
	message := dnsmessage.Message{}
	if err := message.Unpack(query); err != nil {
		return nil, err
	}
	question := message.Questions[0]
	answer := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: message.ID, Response: true, RecursionAvailable: true},
		Questions: message.Questions,
	}
	address := [4]byte{169, 254, 169, 254}
	_, late := lateNames.Load(question.Name.String())
	if late {
		address = [4]byte{127, 0, 0, 1}
	}
	switch {
	case !late && question.Name.String() != rebound+".":
		answer.RCode = dnsmessage.RCodeNameError
	case question.Type == dnsmessage.TypeA:
		answer.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: question.Class},
			Body:   &dnsmessage.AResource{A: address},
		}}
	}
	return answer.Pack()
}
