/** What a schema says against documents: for tests. libxml2 in WebAssembly, loaded only when it is asked. */
export async function schemaProblems(
  xsd: string,
  documents: readonly string[],
): Promise<readonly string[]> {
  const { XmlDocument, XsdValidator } = await import('libxml2-wasm');
  const schema = XmlDocument.fromString(xsd);
  const validator = XsdValidator.fromDoc(schema);
  const problems: string[] = [];
  for (const text of documents) {
    const document = XmlDocument.fromString(text);
    try {
      validator.validate(document);
    } catch (error) {
      problems.push(error instanceof Error ? error.message : 'an unknown problem');
    } finally {
      document.dispose();
    }
  }
  validator.dispose();
  schema.dispose();
  return problems;
}

/** Why libxml2 refuses each text as XML; null for one that it takes. */
export async function xmlProblems(texts: readonly string[]): Promise<readonly (string | null)[]> {
  const { XmlDocument } = await import('libxml2-wasm');
  return texts.map((text) => {
    try {
      XmlDocument.fromString(text).dispose();
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : 'an unknown problem';
    }
  });
}
