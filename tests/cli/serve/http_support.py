"""What the tests of HTTP share: functions that ask a server in JSON."""

import http.client
import json
import socket

import http_schemas as schemas

from serve_support import START_S, ServeTest


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        # Events have no end.
        is_stream = response.headers["Content-Type"] == "text/event-stream"
        self.body = b"" if is_stream else response.read()

    def json(self):
        return json.loads(self.body)


class HttpTest(ServeTest):
    def serve_http(self, *arguments, **options):
        server = self.serve("--http", "127.0.0.1:0", *arguments, **options)
        self.port = self.http_port(server)
        return server

    @staticmethod
    def http_port(server):
        address = next(a for a in server.addresses() if a.startswith("http:"))
        return int(address.rpartition(":")[2])

    def connect_http(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_S)
        self.addCleanup(connection.close)
        return connection

    def ask(self, method, path, body=None, headers=None, connection=None):
        """One request with these headers, beside Host unless they have it."""
        connection = connection or self.connect_http()
        headers = dict(headers or {})
        connection.putrequest(method, path, skip_host="Host" in headers, skip_accept_encoding=True)
        if body is not None:
            headers.setdefault("Content-Length", str(len(body)))
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        return Answer(connection.getresponse())

    def described(self, method, path, status, members, answer):
        """Checks that docs/openapi.json describes this request and this answer."""
        template, operation = schemas.find(method, path)
        self.assertIn(str(status), operation["responses"], f"{method} {template}")
        if status == 200 and members is not None:
            schemas.check(self, schemas.request(operation), members)
        schemas.check(self, schemas.answer(operation, status), answer)

    def get(self, path, status=200, headers=None):
        answer = self.ask("GET", path, headers=headers)
        self.assertEqual(answer.status, status, answer.body)
        if status != 404 or path.startswith("/api/v1/"):
            self.described("get", path.partition("?")[0], status, None, answer.json())
        return answer.json()

    def post(self, operation, status=200, headers=None, **members):
        """Headers of the request are a dictionary; those of a job are a text, and a member."""
        if isinstance(headers, str):
            members["headers"], headers = headers, None
        body = json.dumps(members).encode()
        answer = self.ask("POST", f"/api/v1/{operation}", body,
                          {"Content-Type": "application/json", **(headers or {})})
        self.assertEqual(answer.status, status, answer.body)
        # A member that is null is as good as none, but not a part of the description.
        there = {name: value for name, value in members.items() if value is not None}
        self.described("post", f"/api/v1/{operation}", status, there, answer.json())
        return answer.json()

    def refused(self, answer, status, code):
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (status, code))

    def begin(self, operation, **members):
        """Sends a request, and returns its socket without waiting for the answer."""
        connected = socket.create_connection(("127.0.0.1", self.port), START_S)
        self.addCleanup(connected.close)
        body = json.dumps(members).encode()
        connected.sendall(b"POST /api/v1/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n"
                          b"Content-Type: application/json\r\n\r\n%s" %
                          (operation.encode(), len(body), body))
        return connected
