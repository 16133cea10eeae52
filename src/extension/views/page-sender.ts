import { hasPieces, packedParts, type PackedMessage, type PackedPiece } from '../../protocol/packed';
import type { HostMessage } from '../../protocol/page';

type Part = PackedMessage | PackedPiece;

/** Sends messages to one page, in order. */
export interface PageSender {
  readonly send: (message: HostMessage) => void;
  /** Whether pieces are on their way: what is sent now waits for the last. */
  readonly isBusy: () => boolean;
  /** Drops what was not sent yet: the page is another one, or gone. */
  readonly restart: () => void;
}

/**
 * Packs messages for a page. VS Code copies what it is given several times and keeps that until the page has it, so the next piece of a large message is made when the one before has arrived.
 * @param post hands one part to VS Code; resolves when it arrived. Where it rejects, the page is gone.
 * @param onIdle called when the last piece has arrived and nothing waits.
 */
export function makePageSender(post: (part: Part) => PromiseLike<unknown>, onIdle: () => void): PageSender {
  let waiting: HostMessage[] = [];
  /** Pieces that are not sent yet, of the message of which one is on its way; null: none is. */
  let rest: Iterator<Part, void> | null = null;

  function isBusy(): boolean {
    return rest !== null;
  }

  /** Sends what waits up to the next message in pieces. */
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

  async function sendPieces(parts: Iterator<Part, void>): Promise<void> {
    rest = parts;
    for (let piece = parts.next(); piece.done !== true; piece = parts.next()) {
      const arrived = await Promise.resolve(post(piece.value)).then(
        () => true,
        () => false,
      );
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
