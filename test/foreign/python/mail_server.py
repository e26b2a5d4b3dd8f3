"""
A mail server that requires TLS and a password. Refuses mails by the names of their recipients. Prints each recipient
with the client's port, and each mail as JSON.
"""

import asyncio
import email
import email.policy
import json
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

REFUSED_RECIPIENTS = {"unknown@example.org": "550 5.1.1 No such user"}
REFUSED_MESSAGES = {"spam@example.org": "554 5.7.1 Looks like spam"}


def read_body(mail, subtype):
    return mail.get_body((subtype,)).get_content().replace("\r\n", "\n")


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        _host, port = session.peer
        print(f"{address} over port {port}")
        if address in REFUSED_RECIPIENTS:
            return REFUSED_RECIPIENTS[address]
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, server, session, envelope):
        (recipient,) = envelope.rcpt_tos
        if recipient in REFUSED_MESSAGES:
            return REFUSED_MESSAGES[recipient]
        mail = email.message_from_bytes(envelope.content, policy=email.policy.default)
        received = {
            "from": envelope.mail_from,
            "to": recipient,
            "tls": session.ssl is not None,
            "headers": {name: str(value).strip() for name, value in mail.items()},
            "defects": [str(defect) for part in mail.walk() for defect in part.defects],
            "text": read_body(mail, "plain"),
            "html": read_body(mail, "html"),
        }
        print(json.dumps(received))
        return "250 2.0.0 Accepted"


def authenticate(server, session, envelope, mechanism, credentials):
    success = credentials.login == b"gateway" and credentials.password == b"secret"
    # The server sends the reply.
    return AuthResult(success=success, handled=False)


async def serve(certificate: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate)
    loop = asyncio.get_running_loop()

    def create() -> SMTP:
        return SMTP(
            Handler(),
            tls_context=context,
            require_starttls=True,
            auth_required=True,
            authenticator=authenticate,
            enable_SMTPUTF8=True,
            loop=loop,
        )

    server = await loop.create_server(create, "0.0.0.0", 0)
    print(f"port {server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


asyncio.run(serve(sys.argv[1]))
