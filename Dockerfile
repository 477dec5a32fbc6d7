# The image of both managers for those who build with Docker; `make image` builds the one that is released. Neither has a base.
# Name the Go image by its digest if you push what you build: --build-arg GO_IMAGE=golang@sha256:...
ARG GO_IMAGE=golang:1.26.8
# The release that --version prints: --build-arg VERSION=v0.1.0
ARG VERSION=
FROM ${GO_IMAGE} AS build
ARG VERSION
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOTOOLCHAIN=local go build -trimpath \
    -ldflags "-s -w -X github.com/capwin/cluster-api-provider-windows/internal/version.release=$VERSION" -o /manager .

FROM scratch
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
