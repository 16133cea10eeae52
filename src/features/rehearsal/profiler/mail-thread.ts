import { connect, createServer, type Socket } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { machineClock } from './machine-clock';
import { isMailTask, type Letter, type Received } from './mail-messages';

/*
 * A run of ONNX Runtime blocks its thread, and a socket takes no more than it can hold until somebody reads: what stages hand to each other
 * goes through a thread of its own. A frame is the length of its header (4 bytes), the header as JSON, and the numbers.
 */

/** Listens for the other stages and sends to them. Call it in a thread whose data is a `MailTask`. */
export function serveMail(): void {
  const task: unknown = workerData;
  const port = parentPort;
  if (port === null || !isMailTask(task)) throw new Error('this is not a thread for mail');
  const { stage, addresses } = task;
  const sockets = new Map<number, Socket>();
  const socketTo = (to: number): Socket => {
    const known = sockets.get(to);
    if (known !== undefined) return known;
    const made = connect(addresses[to] ?? '');
    made.on('error', endedElsewhere);
    sockets.set(to, made);
    return made;
  };
  const server = createServer((socket) => {
    socket.on('error', endedElsewhere);
    socket.on(
      'data',
      framesInto((received) => {
        port.postMessage(received, [received.data]);
      }),
    );
  });
  server.listen(addresses[stage], () => {
    port.postMessage('listening');
  });
  port.on('message', ({ to, item, dims, data, sentMs }: Letter) => {
    const header = Buffer.from(JSON.stringify({ item, dims, from: stage, bytes: data.byteLength, sentMs }));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    const socket = socketTo(to);
    socket.cork();
    socket.write(length);
    socket.write(header);
    socket.write(Buffer.from(data));
    socket.uncork();
  });
}

/** A stage that ended is the parent's to report, with its reason. @throws whatever else goes wrong with a socket. */
function endedElsewhere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') throw error;
}

type Header = Omit<Received, 'data' | 'arrivedMs'>;

/** Puts frames together from pieces as they come. */
function framesInto(receive: (received: Received) => void): (piece: Buffer) => void {
  let part = { buffer: Buffer.alloc(4), filled: 0 };
  let state: 'length' | 'header' | 'data' = 'length';
  let header: Header | null = null;
  const next = (to: typeof state, size: number): void => {
    state = to;
    part = { buffer: Buffer.from(new ArrayBuffer(size)), filled: 0 };
  };
  const complete = (): void => {
    const { buffer } = part;
    if (state === 'length') next('header', buffer.readUInt32LE());
    else if (state === 'header') {
      header = JSON.parse(buffer.toString()) as Header;
      next('data', header.bytes);
    } else {
      if (header !== null) receive({ ...header, data: buffer.buffer, arrivedMs: machineClock() });
      next('length', 4);
    }
  };
  return (piece) => {
    let at = 0;
    for (;;) {
      const count = piece.copy(part.buffer, part.filled, at);
      part.filled += count;
      at += count;
      if (part.filled < part.buffer.length) return;
      complete();
    }
  };
}
