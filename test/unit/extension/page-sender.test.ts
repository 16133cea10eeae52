import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { makePageSender } from '../../../src/host/pages/page-sender';
import { makeUnpacker, type PackedMessage, type PackedPiece } from '../../../src/protocol/packed';
import { emptyPage, type HostMessage } from '../../../src/protocol/page';

const small = { type: 'update', fields: { progress: 0.5, incumbent: null, staleEdits: 0 } } satisfies HostMessage;
const show = { type: 'show', tab: 'timeline', candidate: null } satisfies HostMessage;

/** A state whose columns take about 1.6 MB. */
function largeState(seed: number): HostMessage {
  const inFlight = Uint32Array.from({ length: 400_000 }, (_, index) => 2 ** 20 + index + seed);
  const state = { ...emptyPage('tab', true), schedule: { inFlight } };
  return { type: 'state', state: state as unknown as (HostMessage & { type: 'state' })['state'] };
}

interface FakePage {
  readonly sender: ReturnType<typeof makePageSender>;
  /** What was posted and has not arrived. */
  readonly posted: { readonly part: PackedMessage | PackedPiece; readonly settle: (arrived: boolean) => void }[];
  readonly received: unknown[];
  readonly idle: () => number;
  /** Lets the oldest arrive, or fail to. */
  readonly arrive: (arrived?: boolean) => Promise<void>;
}

function fakePage(): FakePage {
  const posted: FakePage['posted'] = [];
  const received: unknown[] = [];
  const unpacked = makeUnpacker();
  let idle = 0;
  const sender = makePageSender(
    (part) =>
      new Promise((resolve, reject) =>
        posted.push({ part, settle: (arrived) => (arrived ? resolve(true) : reject(new Error('disposed'))) }),
      ),
    () => (idle += 1),
  );
  const arrive = async (arrived = true): Promise<void> => {
    const first = posted.shift();
    assert.ok(first !== undefined);
    const message = arrived ? unpacked(structuredClone(first.part)) : null;
    if (message !== null) received.push(message);
    first.settle(arrived);
    await new Promise(setImmediate);
  };
  return { sender, posted, received, idle: () => idle, arrive };
}

describe('the sender of a page', () => {
  it('posts small messages at once', () => {
    const { sender, posted } = fakePage();
    sender.send(small);
    sender.send(show);
    assert.deepEqual(
      posted.map(({ part }) => part.type),
      ['packed', 'packed'],
    );
    assert.equal(sender.isBusy(), false);
  });

  it('has few pieces of a large message on their way, and what comes after waits for the last', async () => {
    const { sender, posted, received, arrive, idle } = fakePage();
    const state = largeState(0);
    sender.send(state);
    sender.send(show);
    let most = posted.length;
    // Of the message itself and four pieces.
    assert.equal(most, 5);
    for (let arrived = 0; received.length === 0; arrived += 1) {
      assert.ok(arrived < 20);
      assert.ok(sender.isBusy());
      assert.equal(idle(), 0);
      await arrive();
      most = Math.max(most, posted.length);
    }
    assert.equal(most, 5);
    while (posted.length > 0) await arrive();
    assert.deepEqual(received, [state, show]);
    assert.equal(sender.isBusy(), false);
    assert.equal(idle(), 1);
  });

  it('sends nothing of what it had to another page', async () => {
    const { sender, posted, received, arrive, idle } = fakePage();
    sender.send(largeState(0));
    sender.send(show);
    sender.restart();
    const state = largeState(1);
    sender.send(state);
    while (posted.length > 0) await arrive();
    assert.deepEqual(received, [state]);
    assert.equal(idle(), 1);
  });

  it('stops when the page is gone', async () => {
    const { sender, posted, arrive } = fakePage();
    sender.send(largeState(0));
    sender.send(show);
    await arrive();
    const onTheirWay = posted.length;
    await arrive(false);
    assert.equal(posted.length, onTheirWay - 1, 'none was sent after it');
    assert.equal(sender.isBusy(), false);
  });
});
