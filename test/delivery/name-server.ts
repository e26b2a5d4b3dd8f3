import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import ipaddr from 'ipaddr.js';

/** The addresses of a name, or the code of the failure. */
export type Answer = readonly string[] | 'NXDOMAIN' | 'SERVFAIL';

/** Returns the addresses of a name in one family. */
export type Records = (name: string, family: 4 | 6) => Answer | Promise<Answer>;

export type NameServer = {
  /** For `Resolver.setServers`. */
  address: string;
  close(): Promise<void>;
};

/** The formats are those of RFC 1035, section 4. */
const HEADER_LENGTH = 12;
/** Of a record with a pointer as its name, without the data. */
const RECORD_LENGTH = 12;
const RECURSIVE_REPLY = 0x8180;
const CODES = { SERVFAIL: 2, NXDOMAIN: 3 };
const TYPE_AAAA = 28;
/** Points to the name of the question. */
const NAME_POINTER = 0xc000 + HEADER_LENGTH;

/** Starts a name server on loopback that replies to queries for addresses over UDP. */
export async function startNameServer(records: Records): Promise<NameServer> {
  const socket = createSocket('udp4');
  let isOpen = true;
  socket.on('message', async (query, { port, address }) => {
    const { name, type, end } = parseQuestion(query);
    const answer = await records(name, type === TYPE_AAAA ? 6 : 4);
    if (isOpen) socket.send(formatReply(query.subarray(0, end), type, answer), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    async close() {
      isOpen = false;
      socket.close();
      await once(socket, 'close');
    },
  };
}

function parseQuestion(query: Buffer) {
  const labels: string[] = [];
  let at = HEADER_LENGTH;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** `question` is the query's header and question. */
function formatReply(question: Buffer, type: number, answer: Answer): Buffer {
  const [code, addresses] = typeof answer === 'string' ? [CODES[answer], []] : [0, answer];
  const reply = Buffer.from(question);
  reply.writeUInt16BE(RECURSIVE_REPLY + code, 2);
  // One question, the answers, and nothing else.
  for (const [index, count] of [1, addresses.length, 0, 0].entries())
    reply.writeUInt16BE(count, 4 + 2 * index);
  return Buffer.concat([reply, ...addresses.map((address) => formatRecord(type, address))]);
}

function formatRecord(type: number, address: string): Buffer {
  const data = Buffer.from(ipaddr.parse(address).toByteArray());
  const record = Buffer.alloc(RECORD_LENGTH);
  record.writeUInt16BE(NAME_POINTER, 0);
  record.writeUInt16BE(type, 2);
  record.writeUInt16BE(1, 4); // The class IN; the time to live is 0.
  record.writeUInt16BE(data.length, 10);
  return Buffer.concat([record, data]);
}
