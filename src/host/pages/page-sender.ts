import { hasPieces, packedParts, type PackedMessage, type PackedPiece } from '../../protocol/packed';
import type { HostMessage } from '../../protocol/page';

export type PagePart = PackedMessage | PackedPiece;

/** Sends messages to one page, in order. */
interface PageSender {
  readonly send: (message: HostMessage) => void;
  /** Whether pieces are in transit; new messages wait for the last of them. */
  readonly isBusy: () => boolean;
  /** Drops unsent messages: the page was replaced or closed. */
  readonly restart: () => void;
}

/** Pieces of a message on their way at once: a plan of usual size needs no second round, and VS Code never copies many megabytes. */
const mostInTransit = 4;

/**
 * Packs messages for a page. VS Code makes several copies of a message and keeps them until the page has it. Therefore few pieces of a
 * large message are on their way at once, and each is made when it is sent.
 * @param post hands one part to VS Code; resolves when it arrived. Where it rejects, the page is gone.
 * @param onIdle called when the last piece has arrived and nothing waits.
 */
export function makePageSender(post: (part: PagePart) => PromiseLike<unknown>, onIdle: () => void): PageSender {
  let waiting: HostMessage[] = [];
  /** Unsent pieces of the message in transit; null: nothing is in transit. */
  let rest: Iterator<PagePart, void> | null = null;

  function isBusy(): boolean {
    return rest !== null;
  }

  /** Sends waiting messages, up to the next one that needs pieces. */
  function next(): void {
    while (!isBusy()) {
      const message = waiting.shift();
      if (message === undefined) return;
      const parts = packedParts(message);
      const head = parts.next();
      if (head.done === true) continue;
      void post(head.value);
      if (hasPieces(head.value)) void sendPieces(parts);
    }
  }

  async function sendPieces(parts: Iterator<PagePart, void>): Promise<void> {
    rest = parts;
    const inTransit: Promise<boolean>[] = [];
    for (;;) {
      const piece = inTransit.length < mostInTransit ? parts.next() : null;
      if (piece !== null && piece.done !== true) {
        inTransit.push(arrival(post(piece.value)));
        continue;
      }
      const oldest = inTransit.shift();
      if (oldest === undefined) break;
      const arrived = await oldest;
      if (rest !== parts) return;
      if (!arrived) {
        waiting = [];
        break;
      }
    }
    rest = null;
    next();
    if (!isBusy()) onIdle();
  }

  return {
    send: (message) => {
      waiting.push(message);
      if (!isBusy()) next();
    },
    isBusy,
    restart: () => {
      waiting = [];
      rest = null;
    },
  };
}

/** Whether a part that was handed to VS Code arrived. */
function arrival(posted: PromiseLike<unknown>): Promise<boolean> {
  return Promise.resolve(posted).then(
    () => true,
    () => false,
  );
}
