# A static binary, a user without rights, nothing else. No build argument and no layer holds a secret.
ARG GO_VERSION=1.26
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION} AS build
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY main.go ./
COPY api/ api/
COPY config/ config/
COPY controllers/ controllers/
COPY internal/ internal/
ARG VERSION=dev
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} \
    go build -mod=readonly -buildvcs=false -ldflags "-s -w -X github.com/mooring-dev/mooring/internal/cli.version=${VERSION}" \
    -o /out/mooring .

FROM scratch
# Servers' certificates are verified against the build image's roots; a bundle of your own goes by spec.http.tls.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/mooring /mooring
USER 65532:65532
ENTRYPOINT ["/mooring"]
