import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { listen } from '../../src/server/listen.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { createCertificate, trustCertificate } from '../support/servers.ts';
import { member } from '../support/tokens.ts';
import { hasProxies, proxyPrograms, startProxy } from './proxies.ts';

/** More than the six connections that browsers open to an origin over HTTP/1.1. */
const STREAMS = 12;

describe.skipIf(!hasProxies)(
  'live streams behind proxies with TLS (need root, nginx, HAProxy and Caddy)',
  () => {
    const certificate = createCertificate('IP:127.0.0.1');
    let folder: string;
    let gateway: TestGateway;
    let files: { cert: string; key: string; both: string };
    let distrust: () => void;

    beforeAll(async () => {
      folder = await makeFolder();
      gateway = await startTestGateway();
      const { cert, key } = certificate;
      const write = async (name: string, content: string) => {
        const path = join(folder, name);
        await writeFile(path, content);
        await chmod(path, 0o644);
        return path;
      };
      files = {
        cert: await write('proxy.crt', cert),
        key: await write('proxy.key', key),
        both: await write('proxy.pem', cert + key),
      };
      distrust = trustCertificate(certificate);
    });
    afterAll(async () => {
      distrust();
      await gateway.close();
      await removeFolder(folder);
    });

    /** Opens a live stream and returns the type of the reply. */
    async function openStream(session: ClientHttp2Session, token: string): Promise<unknown> {
      const stream = session.request({
        ':method': 'POST',
        ':path': '/graphql',
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      });
      stream.end(JSON.stringify({ query: 'subscription { notificationEvents { type } }' }));
      const [headers] = await once(stream, 'response');
      return headers['content-type'];
    }

    test.each(proxyPrograms)(
      '$program serves more streams and other requests over one connection',
      async (program) => {
        const port = Number(new URL(gateway.address).port);
        const proxy = await startProxy(program, folder, [port, port], files);
        const session = connect(proxy.address, { ca: certificate.cert });
        await once(session, 'connect');
        expect(session.alpnProtocol).toBe('h2');
        const token = await member('alice');
        for (let count = 0; count < STREAMS; count += 1)
          expect(await openStream(session, token)).toMatch(/^text\/event-stream/);

        const [headers] = await once(session.request({ ':path': '/healthz' }), 'response');
        expect(headers[':status']).toBe(200);
        session.destroy();
        await proxy.stop();
      },
    );

    test.each(proxyPrograms)('$program logs no token of a link that it cannot forward', async (program) => {
      const server = createServer((_request, response) => response.end());
      const port = Number(new URL(await listen(server, { host: '127.0.0.1', port: 0 })).port);
      const proxy = await startProxy(program, folder, [port, port]);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      const headers = { Referer: `${proxy.address}/answer/secret-1` };
      for (const path of ['/answer/secret-2', '/unsubscribe/secret-3', '/answer/secret-4/x?secret-5'])
        expect((await fetch(proxy.address + path, { headers })).status).toBeGreaterThan(500);
      const { stdout, stderr } = await proxy.stop();
      expect(stdout + stderr).not.toContain('secret-');
    });
  },
);
