interface Choice<T> {
  readonly label: string;
  readonly what?: string;
  readonly value: T;
}

/** Asks for one of several things, in a dialog; null where it is closed. */
export function choose<T>(title: string, choices: readonly Choice<T>[]): Promise<T | null> {
  const dialog = document.createElement('dialog');
  dialog.className = 'web-choose';
  const heading = document.createElement('h2');
  heading.id = 'choose-title';
  heading.textContent = title;
  dialog.setAttribute('aria-labelledby', heading.id);
  return new Promise((resolve) => {
    let picked: T | null = null;
    const list = document.createElement('ul');
    list.append(
      ...choices.map(({ label, what, value }) => {
        const item = document.createElement('li');
        const button = document.createElement('button');
        button.type = 'button';
        button.textContent = label;
        button.addEventListener('click', () => {
          picked = value;
          dialog.close();
        });
        item.append(button, ...(what === undefined ? [] : [` ${what}`]));
        return item;
      }),
    );
    const cancel = document.createElement('button');
    cancel.type = 'button';
    cancel.textContent = 'Cancel';
    cancel.addEventListener('click', () => dialog.close());
    dialog.append(heading, list, cancel);
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(picked);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Has the browser ask for a file; null for none. */
export function pickFile(): Promise<File | null> {
  const input = document.createElement('input');
  input.type = 'file';
  return new Promise((resolve) => {
    input.addEventListener('change', () => resolve(input.files?.[0] ?? null));
    input.addEventListener('cancel', () => resolve(null));
    input.click();
  });
}
