import eu.europa.esig.dss.enumerations.DigestAlgorithm;
import eu.europa.esig.dss.model.Digest;
import eu.europa.esig.dss.model.FileDocument;
import eu.europa.esig.dss.model.ReferenceValidation;
import eu.europa.esig.dss.model.scope.SignatureScope;
import eu.europa.esig.dss.model.signature.SignatureCryptographicVerification;
import eu.europa.esig.dss.model.x509.CertificateToken;
import eu.europa.esig.dss.spi.DSSUtils;
import eu.europa.esig.dss.spi.signature.AdvancedSignature;
import eu.europa.esig.dss.spi.validation.CertificateVerifier;
import eu.europa.esig.dss.spi.validation.CommonCertificateVerifier;
import eu.europa.esig.dss.spi.x509.CommonCertificateSource;
import eu.europa.esig.dss.utils.Utils;
import eu.europa.esig.dss.xades.validation.XMLDocumentAnalyzer;
import eu.europa.esig.dss.xades.validation.scope.XmlRootSignatureScope;
import java.io.File;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;

/**
 * Verifies each list of a folder with EU DSS. NAME.xml is a list, and NAME.der the certificate of its signer. Prints a line
 * for each list: its name, and the SHA-256 of the signer's certificate and of the signed content, or why it is refused.
 * Only the signature counts: whether a certificate is trusted, or an algorithm still allowed, is a policy.
 */
public final class Verdicts {
    private Verdicts() {}

    public static void main(String[] arguments) {
        // Standard output is for verdicts only. The library logs elsewhere.
        PrintStream out = System.out;
        System.setOut(System.err);
        File[] lists = new File(arguments[0]).listFiles((folder, name) -> name.endsWith(".xml"));
        Arrays.sort(lists);
        for (File list : lists) {
            String name = list.getName().replaceFirst("[.]xml$", "");
            out.println(name + "\t" + verdict(list, new File(list.getParentFile(), name + ".der")));
        }
    }

    private static String verdict(File list, File certificate) {
        CertificateToken signer = DSSUtils.loadCertificate(certificate);
        try {
            return "intact\t" + verify(list, signer);
        } catch (Refused | RuntimeException why) {
            return "refused\t" + String.valueOf(why.getMessage()).replaceAll("\\s+", " ");
        }
    }

    private static String verify(File list, CertificateToken signer) throws Refused {
        XMLDocumentAnalyzer analyzer = new XMLDocumentAnalyzer(new FileDocument(list));
        analyzer.setCertificateVerifier(offline());
        // The candidate if the list has no certificate.
        CommonCertificateSource candidates = new CommonCertificateSource();
        candidates.addCertificate(signer);
        analyzer.setSigningCertificateSource(candidates);

        List<AdvancedSignature> signatures = analyzer.getSignatures();
        require(signatures.size() == 1, "signatures: " + signatures.size());
        AdvancedSignature signature = signatures.get(0);
        SignatureCryptographicVerification made = signature.getSignatureCryptographicVerification();
        require(made.isSignatureIntact(), "signature not intact: " + made.getErrorMessage());
        Digest content = null;
        for (ReferenceValidation reference : signature.getReferenceValidations()) {
            require(reference.isFound(), "reference not found: " + reference.getUri());
            require(reference.isIntact(), "reference not intact: " + reference.getUri());
            if (reference.getUri().isEmpty()) {
                require(content == null, "two references to the document");
                content = reference.getDigest();
            }
        }
        require(content != null, "no reference to the document");
        require(made.isSignatureValid(), "signature not valid: " + made.getErrorMessage());
        List<SignatureScope> scopes = signature.getSignatureScopes();
        require(scopes.size() == 1, "scopes: " + scopes.size());
        require(scopes.get(0) instanceof XmlRootSignatureScope, "scope is not the whole document");
        require(content.getAlgorithm() == DigestAlgorithm.SHA256, "digest by " + content.getAlgorithm());
        byte[] by = signature.getSigningCertificateToken().getDigest(DigestAlgorithm.SHA256);
        return Utils.toHex(by) + "\t" + Utils.toHex(content.getValue());
    }

    /** Fetches nothing: by default, DSS fetches the certificates of issuers. */
    private static CertificateVerifier offline() {
        CertificateVerifier verifier = new CommonCertificateVerifier();
        verifier.setAIASource(null);
        verifier.setCrlSource(null);
        verifier.setOcspSource(null);
        return verifier;
    }

    private static void require(boolean holds, String otherwise) throws Refused {
        if (!holds) {
            throw new Refused(otherwise);
        }
    }

    private static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String why) {
            super(why);
        }
    }
}
