// Package client is made by oapi-codegen from the description that the gateway at GATEWAY_URL serves.
package client

//go:generate go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2 -generate types,client -package client -o client.go $GATEWAY_URL/api/openapi-3.0.yaml
