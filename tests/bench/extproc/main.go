// An external processor for Envoy, as small as one can be: it reads the body, hashes its start as
// the Lua contender does, and names a host in the routing header. Envoy sends it the whole body in
// one message (BUFFERED), the cheapest way there is.
//
//	extproc HOST:PORT,HOST:PORT   prints its own port when it listens
package main

import (
	"fmt"
	"log"
	"net"
	"os"
	"strings"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	extproc "github.com/envoyproxy/go-control-plane/envoy/service/ext_proc/v3"
	"google.golang.org/grpc"
)

const (
	routingHeader = "x-gateway-destination-endpoint"
	hashedBytes   = 2048
	// gRPC's own limit is 4 MiB.
	maxMessageBytes = 64 << 20
)

type picker struct {
	extproc.UnimplementedExternalProcessorServer
	hosts []string
}

// Process answers each body with the header; nothing else is asked for.
func (p *picker) Process(stream extproc.ExternalProcessor_ProcessServer) error {
	for {
		request, err := stream.Recv()
		if err != nil {
			// The end of the stream is the end of its request.
			return nil
		}
		body, ok := request.Request.(*extproc.ProcessingRequest_RequestBody)
		if !ok {
			return fmt.Errorf("unexpected message %T", request.Request)
		}
		if err := stream.Send(p.answer(body.RequestBody.Body)); err != nil {
			return err
		}
	}
}

func (p *picker) answer(body []byte) *extproc.ProcessingResponse {
	hash := uint32(5381)
	for _, b := range body[:min(len(body), hashedBytes)] {
		hash = hash*33 + uint32(b)
	}
	host := p.hosts[hash%uint32(len(p.hosts))]
	return &extproc.ProcessingResponse{
		Response: &extproc.ProcessingResponse_RequestBody{
			RequestBody: &extproc.BodyResponse{
				Response: &extproc.CommonResponse{
					HeaderMutation: &extproc.HeaderMutation{
						SetHeaders: []*core.HeaderValueOption{{
							Header: &core.HeaderValue{Key: routingHeader, RawValue: []byte(host)},
						}},
					},
				},
			},
		},
	}
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxConcurrentStreams(1<<16),
	)
	hosts := strings.Split(os.Args[1], ",")
	extproc.RegisterExternalProcessorServer(server, &picker{hosts: hosts})
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
