/** What a key in the timeline asks for. */
export type KeyAction =
  | { readonly do: 'zoom'; readonly factor: number }
  | { readonly do: 'zoomRows'; readonly factor: number }
  /** Fractions of what is visible. */
  | { readonly do: 'pan'; readonly fraction: number }
  | { readonly do: 'scroll'; readonly fraction: number }
  /** To another operation: on the same stage, on the neighbouring one, or of the same micro-batch. */
  | { readonly do: 'step'; readonly along: 'stage' | 'stages' | 'microBatch'; readonly by: 1 | -1 }
  | { readonly do: 'edge'; readonly end: 'first' | 'last' }
  | { readonly do: 'fitSelection' | 'fitAll' | 'find' | 'help' | 'back' | 'criticalPath' };

/** The part of a `KeyboardEvent` that decides. */
export interface KeyPress {
  readonly key: string;
  /** Physical key, so that W A S D lie together on every keyboard. */
  readonly code: string;
  readonly shiftKey: boolean;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Reads a key press, null when it means nothing here. Keys with Ctrl, Cmd or Alt belong to VS Code. */
export function readKey({ key, code, shiftKey, ctrlKey, metaKey, altKey }: KeyPress): KeyAction | null {
  if (ctrlKey || metaKey || altKey) return null;
  switch (code) {
    case 'KeyW':
      return shiftKey ? { do: 'zoomRows', factor: 1.25 } : { do: 'zoom', factor: 1.3 };
    case 'KeyS':
      return shiftKey ? { do: 'zoomRows', factor: 1 / 1.25 } : { do: 'zoom', factor: 1 / 1.3 };
    case 'KeyA':
      return { do: 'pan', fraction: -0.15 };
    case 'KeyD':
      return { do: 'pan', fraction: 0.15 };
  }
  switch (key) {
    case '+':
    case '=':
      return { do: 'zoom', factor: 1.3 };
    case '-':
      return { do: 'zoom', factor: 1 / 1.3 };
    case 'ArrowLeft':
      return { do: 'step', along: 'stage', by: -1 };
    case 'ArrowRight':
      return { do: 'step', along: 'stage', by: 1 };
    case 'ArrowUp':
      return { do: 'step', along: 'stages', by: -1 };
    case 'ArrowDown':
      return { do: 'step', along: 'stages', by: 1 };
    case '[':
      return { do: 'step', along: 'microBatch', by: -1 };
    case ']':
      return { do: 'step', along: 'microBatch', by: 1 };
    case 'Home':
      return { do: 'edge', end: 'first' };
    case 'End':
      return { do: 'edge', end: 'last' };
    case 'PageUp':
      return { do: 'scroll', fraction: -0.8 };
    case 'PageDown':
      return { do: 'scroll', fraction: 0.8 };
    case 'f':
    case 'F':
    case 'Enter':
      return { do: 'fitSelection' };
    case '0':
      return { do: 'fitAll' };
    case 'c':
    case 'C':
      return { do: 'criticalPath' };
    case '/':
      return { do: 'find' };
    case '?':
      return { do: 'help' };
    case 'Escape':
      return { do: 'back' };
    default:
      return null;
  }
}
