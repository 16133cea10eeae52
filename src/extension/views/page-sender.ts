import { hasPieces, packedParts, type PackedMessage, type PackedPiece } from '../../protocol/packed';
import type { HostMessage } from '../../protocol/page';

type Part = PackedMessage | PackedPiece;

/** Sends messages to one page, in order. */
export interface PageSender {
  readonly send: (message: HostMessage) => void;
  /** Whether pieces are in transit; new messages wait for the last of them. */
  readonly isBusy: () => boolean;
  /** Drops unsent messages: the page was replaced or closed. */
  readonly restart: () => void;
}

/**
 * Packs messages for a page. VS Code makes several copies of a message and keeps them until the page has it, so each piece of a large
 * message is made when the one before has arrived.
 * @param post hands one part to VS Code; resolves when it arrived. Where it rejects, the page is gone.
 * @param onIdle called when the last piece has arrived and nothing waits.
 */
export function makePageSender(post: (part: Part) => PromiseLike<unknown>, onIdle: () => void): PageSender {
  let waiting: HostMessage[] = [];
  /** Unsent pieces of the message in transit; null: nothing is in transit. */
  let rest: Iterator<Part, void> | null = null;

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
