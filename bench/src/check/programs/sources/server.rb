# Serves the files of a directory with WEBrick, nothing else changed.
require "webrick"

server = WEBrick::HTTPServer.new(Port: Integer(ARGV[0]), DocumentRoot: ARGV[1], AccessLog: [])
trap("TERM") { server.shutdown }
server.start
