import com.prowidesoftware.swift.model.mx.AbstractMX;
import jakarta.xml.bind.JAXBContext;
import jakarta.xml.bind.SchemaOutputResolver;
import java.io.File;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.xml.XMLConstants;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.transform.Result;
import javax.xml.transform.dom.DOMSource;
import javax.xml.transform.stream.StreamResult;
import javax.xml.transform.stream.StreamSource;
import javax.xml.validation.Schema;
import javax.xml.validation.SchemaFactory;
import org.w3c.dom.Document;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/**
 * Reads ISO 20022 messages with Prowide's library, which knows every published version. For each file of a
 * folder: the document must be valid against the schema of Prowide's model of exactly that version, and
 * Prowide must read header and document and write the document again with every element that it had. Prints
 * one line per fault; exit code 1 when there is one.
 */
public class Judge {
  private static final Map<String, Schema> schemas = new LinkedHashMap<>();
  private static int faults = 0;

  public static void main(String[] arguments) throws Exception {
    File[] files = new File(arguments[0]).listFiles((folder, name) -> name.endsWith(".xml"));
    int read = 0;
    for (File file : files) {
      try {
        judge(file);
        read += 1;
      } catch (Exception error) {
        fault(file, error.toString());
      }
    }
    System.out.println("read " + read + " messages, " + faults + " faults");
    System.exit(faults == 0 && read > 0 ? 0 : 1);
  }

  private static void judge(File file) throws Exception {
    String xml = Files.readString(Path.of(file.getPath()));
    DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
    factory.setNamespaceAware(true);
    Document whole = factory.newDocumentBuilder().parse(file);
    Element document = (Element) whole.getElementsByTagNameNS("*", "Document").item(0);
    Element header = (Element) whole.getElementsByTagNameNS("*", "AppHdr").item(0);
    String version = lastPart(document.getNamespaceURI());
    String[] parts = version.split("\\.");
    String model = "Mx" + parts[0].substring(0, 1).toUpperCase() + parts[0].substring(1)
        + parts[1] + parts[2] + parts[3];
    validate(file, document, "com.prowidesoftware.swift.model.mx." + model);
    validate(file, header, "com.prowidesoftware.swift.model.mx.BusinessAppHdrV"
        + lastPart(header.getNamespaceURI()).substring("head.001.001.".length()));

    AbstractMX message = AbstractMX.parse(xml);
    if (message == null) {
      fault(file, "Prowide does not recognize the message");
      return;
    }
    if (message.getAppHdr() == null || !version.equals(message.getAppHdr().messageName()))
      fault(file, "Prowide reads another header");
    Document again = factory.newDocumentBuilder().parse(
        new org.xml.sax.InputSource(new StringReader(message.document())));
    String before = flat(document);
    String after = flat((Element) again.getElementsByTagNameNS("*", "Document").item(0));
    if (!before.equals(after)) fault(file, "written again, it differs:\n" + before + "\n" + after);
  }

  private static void validate(File file, Element element, String model) throws Exception {
    Schema schema = schemas.get(model);
    if (schema == null) {
      schema = schemaOf(Class.forName(model));
      schemas.put(model, schema);
    }
    Document plain = DocumentBuilderFactory.newInstance().newDocumentBuilder().newDocument();
    plain.appendChild(withoutNamespace(plain, element));
    try {
      schema.newValidator().validate(new DOMSource(plain));
    } catch (org.xml.sax.SAXException error) {
      fault(file, element.getLocalName() + ": " + error.getMessage());
    }
  }

  /** Prowide's types have no namespace: its model shares them between versions. */
  private static Schema schemaOf(Class<?> model) throws Exception {
    Map<String, StringWriter> written = new LinkedHashMap<>();
    JAXBContext.newInstance(model).generateSchema(new SchemaOutputResolver() {
      @Override
      public Result createOutput(String namespace, String suggested) {
        StringWriter writer = new StringWriter();
        written.put(namespace, writer);
        StreamResult result = new StreamResult(writer);
        result.setSystemId(suggested);
        return result;
      }
    });
    String types = written.remove("").toString();
    String roots = written.values().stream().map(StringWriter::toString).reduce("", String::concat);
    Matcher root = Pattern.compile("<xs:element name=\"\\w+\" type=\"\\w+\"/>").matcher(roots);
    String element = root.find() ? root.group() : "";
    String whole = types.replace("</xs:schema>", element + "</xs:schema>");
    SchemaFactory factory = SchemaFactory.newInstance(XMLConstants.W3C_XML_SCHEMA_NS_URI);
    return factory.newSchema(new StreamSource(new StringReader(whole)));
  }

  private static Element withoutNamespace(Document plain, Element element) {
    Element copy = plain.createElement(element.getLocalName());
    if (element.hasAttribute("Ccy")) copy.setAttribute("Ccy", element.getAttribute("Ccy"));
    NodeList children = element.getChildNodes();
    for (int index = 0; index < children.getLength(); index += 1) {
      Node child = children.item(index);
      if (child instanceof Element inner) copy.appendChild(withoutNamespace(plain, inner));
      else copy.appendChild(plain.createTextNode(child.getTextContent()));
    }
    return copy;
  }

  /** Names, attributes and texts in order. Numbers without zeros at their end, times without their form. */
  private static String flat(Element element) {
    StringBuilder out = new StringBuilder("<").append(element.getLocalName());
    if (element.hasAttribute("Ccy")) out.append(" ").append(element.getAttribute("Ccy"));
    out.append(">");
    NodeList children = element.getChildNodes();
    boolean hasElements = false;
    for (int index = 0; index < children.getLength(); index += 1)
      if (children.item(index) instanceof Element child) {
        hasElements = true;
        out.append(flat(child));
      }
    if (!hasElements) out.append(comparable(element.getTextContent()));
    return out.append("</>").toString();
  }

  private static String comparable(String text) {
    if (text.matches("\\d{4}-\\d\\d-\\d\\dT.*")) return text.substring(0, 10);
    if (text.matches("\\d+\\.\\d+")) return text.replaceAll("\\.?0+$", "");
    return text;
  }

  private static String lastPart(String namespace) {
    return namespace.substring(namespace.lastIndexOf(':') + 1);
  }

  private static void fault(File file, String what) {
    faults += 1;
    System.out.println(file.getName() + ": " + what);
  }
}
