import { makeUnpacker } from '../../src/protocol/packed';
import type { ActMessage, HostMessage, PageMessage } from '../../src/protocol/page';

/** The page's side of the transport. */
export interface Host {
  readonly post: (message: PageMessage) => void;
  readonly saved: () => unknown;
  readonly save: (state: unknown) => void;
}

declare function acquireVsCodeApi(): {
  postMessage(message: unknown): void;
  getState(): unknown;
  setState(state: unknown): void;
};

/** Connects to VS Code; may be called once per page. */
export function connect(onMessage: (message: HostMessage) => void): Host {
  const api = acquireVsCodeApi();
  const unpacked = makeUnpacker();
  window.addEventListener('message', (event: MessageEvent<unknown>) => {
    const message = isAct(event.data) ? event.data : unpacked(event.data);
    if (isHostMessage(message)) onMessage(message);
  });
  return {
    post: (message) => api.postMessage(message),
    saved: () => api.getState(),
    save: (state) => api.setState(state),
  };
}

/** A command comes as it is, also between the pieces of another message. */
function isAct(value: unknown): value is ActMessage {
  return typeof value === 'object' && value !== null && 'type' in value && value.type === 'act' && 'command' in value && 'focus' in value;
}

/** Whether something that arrived is one of our host's messages. */
function isHostMessage(value: unknown): value is HostMessage {
  if (typeof value !== 'object' || value === null || !('type' in value)) return false;
  if (value.type === 'show') return 'tab' in value;
  if (isAct(value)) return true;
  if (value.type === 'update') return 'fields' in value && typeof value.fields === 'object' && value.fields !== null;
  return value.type === 'state' && 'state' in value && typeof value.state === 'object' && value.state !== null;
}
